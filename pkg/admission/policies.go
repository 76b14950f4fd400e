// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// HookAddressesPlugin is the name of the plugin HookAddresses.
const HookAddressesPlugin = "HookAddresses"

// HookAddresses refuses hooks at denied addresses. Host names pass: each call checks the addresses that they resolve
// to.
type HookAddresses struct {
	*admission.Handler
	denied hookaddress.Denied
}

var _ admission.ValidationInterface = &HookAddresses{}

// NewHookAddresses returns the plugin.
func NewHookAddresses(denied hookaddress.Denied) *HookAddresses {
	return &HookAddresses{Handler: admission.NewHandler(admission.Create, admission.Update), denied: denied}
}

// Validate returns an error that names all hooks at denied addresses. An address that the stored controller already has
// does not prevent other changes.
func (h *HookAddresses) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, stored := controllerOf(request.GetObject()), controllerOf(request.GetOldObject())
	if updated == nil || request.GetSubresource() != "" {
		return nil
	}
	old := sets.New[string]()
	if stored != nil {
		old = stored.addresses()
	}
	var errs field.ErrorList
	for _, hook := range updated.hooks {
		if !old.Has(hook.address()) {
			if err := h.denied.CheckHost(hook.webhook.Address().Hostname()); err != nil {
				errs = append(errs, field.Forbidden(hook.addressPath(), err.Error()))
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(request.GetKind().GroupKind(), request.GetName(), errs)
}

// ServiceAccountsPlugin is the name of the plugin ServiceAccounts.
const ServiceAccountsPlugin = "ControllerServiceAccounts"

// ServiceAccounts refuses controllers that act as the server, if each must have a service account.
type ServiceAccounts struct {
	*admission.Handler
	required bool
}

var _ admission.ValidationInterface = &ServiceAccounts{}

// NewServiceAccounts returns the plugin. It refuses nothing unless service accounts are required.
func NewServiceAccounts(required bool) *ServiceAccounts {
	return &ServiceAccounts{Handler: admission.NewHandler(admission.Create, admission.Update), required: required}
}

// Validate returns an error for a spec without a service account, for any author. It only warns of a stored spec that
// does not change.
func (s *ServiceAccounts) Validate(
	ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces,
) error {
	updated := controllerOf(request.GetObject())
	if !s.required || updated == nil || request.GetSubresource() != "" || updated.access.ServiceAccount != nil {
		return nil
	}
	path := field.NewPath("spec", "serviceAccount")
	if !updated.hasSpecOf(controllerOf(request.GetOldObject())) {
		return apierrors.NewInvalid(request.GetKind().GroupKind(), request.GetName(), field.ErrorList{
			field.Required(path, "the server requires a ServiceAccount that the controller acts as "+
				"(--require-service-account)"),
		})
	}
	if request.GetUserInfo().GetName() != user.APIServerUser {
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: is not set, so the controller acts as the server; the server "+
			"rejects the next change of spec without a ServiceAccount (--require-service-account)", path))
	}
	return nil
}

// LimitsPlugin is the name of the plugin Limits.
const LimitsPlugin = "ControllerLimits"

// Limits refuses objects that are too large, and controllers beyond the number that a tenant may have: one tenant could
// fill the storage that all share. Controllers that are created at the same time may exceed the number by a few.
type Limits struct {
	*admission.Handler
	maxBytes, maxControllers int
	index                    *ParentIndex
}

var _ admission.ValidationInterface = &Limits{}

// NewLimits returns the plugin: an object may have up to maxBytes of JSON, and a namespace up to maxControllers.
func NewLimits(maxBytes, maxControllers int, index *ParentIndex) *Limits {
	handler := admission.NewHandler(admission.Create, admission.Update)
	return &Limits{Handler: handler, maxBytes: maxBytes, maxControllers: maxControllers, index: index}
}

// Validate returns an error that names the limit. A stored object may stay as large as it is, and the server may change
// it.
func (l *Limits) Validate(
	_ context.Context, request admission.Attributes, interfaces admission.ObjectInterfaces,
) error {
	isUpdate := request.GetOperation() == admission.Update
	if request.GetSubresource() != "" || isUpdate && request.GetUserInfo().GetName() == user.APIServerUser {
		return nil
	}
	_, isRevision := request.GetObject().(*v1alpha1.ControllerRevision)
	if !isRevision && controllerOf(request.GetObject()) == nil {
		return nil
	}
	if err := l.checkSize(request, interfaces); err != nil {
		return err
	}
	return l.checkNumber(request)
}

func (l *Limits) checkSize(request admission.Attributes, interfaces admission.ObjectInterfaces) error {
	size, err := sizeOf(request.GetObject(), interfaces)
	if err != nil || size <= l.maxBytes {
		return err
	}
	if stored := request.GetOldObject(); stored != nil {
		if before, err := sizeOf(stored, interfaces); err != nil || size <= before {
			return err
		}
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"%s %q has %d bytes of JSON, but the maximum is %d (--max-object-bytes)",
		request.GetKind().Kind, request.GetName(), size, l.maxBytes))
}

// sizeOf returns how many bytes of JSON an object has.
func sizeOf(object runtime.Object, interfaces admission.ObjectInterfaces) (int, error) {
	versioned, err := interfaces.GetObjectConvertor().ConvertToVersion(object, v1alpha1.SchemeGroupVersion)
	if err != nil {
		return 0, fmt.Errorf("measure the object: %w", err)
	}
	written, err := json.Marshal(versioned)
	return len(written), err
}

func (l *Limits) checkNumber(request admission.Attributes) error {
	var before []string
	if stored := controllerOf(request.GetOldObject()); stored != nil {
		before = stored.tenants()
	}
	updated := controllerOf(request.GetObject())
	if updated == nil {
		return nil
	}
	for _, namespace := range updated.tenants() {
		if count := l.index.count(namespace); count >= l.maxControllers && !slices.Contains(before, namespace) {
			return admission.NewForbidden(request, fmt.Errorf("%d controllers have a service account in the namespace %q or "+
				"are limited to it, but the maximum is %d (--max-controllers-per-namespace)",
				count, namespace, l.maxControllers))
		}
	}
	return nil
}

// tenants returns the namespaces whose tenants the controller belongs to.
func (c *controller) tenants() []string {
	return tenantsOf(c.access)
}
