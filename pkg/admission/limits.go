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
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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

// NewLimits returns the plugin: objects may have so many bytes of JSON, and namespaces so many controllers.
func NewLimits(maxBytes, maxControllers int, index *ParentIndex) *Limits {
	handler := admission.NewHandler(admission.Create, admission.Update)
	return &Limits{Handler: handler, maxBytes: maxBytes, maxControllers: maxControllers, index: index}
}

// Validate returns an error that names the limit. What is stored already may stay as large as it is, and the server may
// change it.
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
		"%s %q has %d bytes of JSON, and the server stores up to %d (--max-object-bytes)",
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
			return admission.NewForbidden(request, fmt.Errorf("%d controllers have a service account in the namespace %q "+
				"or are limited to it, and there may be %d (--max-controllers-per-namespace)",
				count, namespace, l.maxControllers))
		}
	}
	return nil
}

// tenants returns the namespaces whose tenants the controller belongs to.
func (c *controller) tenants() []string {
	return tenantsOf(c.access)
}
