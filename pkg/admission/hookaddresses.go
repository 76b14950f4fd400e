// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// HookAddressesPlugin is the name of the plugin HookAddresses.
const HookAddressesPlugin = "HookAddresses"

// HookAddresses refuses hooks at addresses that would not be called. What a name leads to is checked at each call, and not
// here.
type HookAddresses struct {
	*admission.Handler
	denied hookaddress.Denied
}

var _ admission.ValidationInterface = &HookAddresses{}

// NewHookAddresses makes the plugin.
func NewHookAddresses(denied hookaddress.Denied) *HookAddresses {
	return &HookAddresses{Handler: admission.NewHandler(admission.Create, admission.Update), denied: denied}
}

// Validate returns an error that names all hooks at addresses that are denied. An address that was stored before it was
// denied does not stand in the way of other changes.
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
