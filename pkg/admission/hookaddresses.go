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

// HookAddresses refuses hooks at denied addresses. Host names pass: the addresses that they resolve
// to are checked at each call.
type HookAddresses struct {
	*admission.Handler
	denied hookaddress.Denied
}

var _ admission.ValidationInterface = &HookAddresses{}

// NewHookAddresses returns the plugin.
func NewHookAddresses(denied hookaddress.Denied) *HookAddresses {
	return &HookAddresses{Handler: admission.NewHandler(admission.Create, admission.Update), denied: denied}
}

// Validate returns an error that names all hooks at denied addresses. An address that the stored
// controller has already does not keep it from being changed in other ways.
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
