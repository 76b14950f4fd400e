// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
)

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

// Validate returns an error for a spec without a service account, whoever the author is. It only warns
// of a stored spec that stays as it is.
func (s *ServiceAccounts) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated := controllerOf(request.GetObject())
	if !s.required || updated == nil || request.GetSubresource() != "" || updated.access.ServiceAccount != nil {
		return nil
	}
	path := field.NewPath("spec", "serviceAccount")
	if !updated.hasSpecOf(controllerOf(request.GetOldObject())) {
		return apierrors.NewInvalid(request.GetKind().GroupKind(), request.GetName(), field.ErrorList{
			field.Required(path, "is the ServiceAccount that the controller acts as, and the server requires one (--require-service-account)"),
		})
	}
	if request.GetUserInfo().GetName() != user.APIServerUser {
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: is not set, so the controller acts as the server, which requires a ServiceAccount when spec "+
			"is changed next (--require-service-account)", path))
	}
	return nil
}
