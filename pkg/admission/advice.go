// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
)

// Advice warns of what plugins would say of a controller that is imported, if an author wrote it now. It refuses nothing.
type Advice struct {
	plugins []admission.ValidationInterface
}

// NewAdvice returns the advice of the plugins that ask nothing about the author.
func NewAdvice(host Host, addresses *HookAddresses, accounts *ServiceAccounts, warnings *Warnings) *Advice {
	warnings.SetHost(host)
	return &Advice{[]admission.ValidationInterface{addresses, accounts, warnings}}
}

// Give adds warnings about an object to the answer of the request.
func (a *Advice) Give(ctx context.Context, kind schema.GroupVersionKind, name string, object runtime.Object) {
	request := admission.NewAttributesRecord(object, nil, kind, "", name, schema.GroupVersionResource{}, "", admission.Create, nil, true, nil)
	for _, plugin := range a.plugins {
		if err := plugin.Validate(ctx, request, nil); err != nil {
			warning.AddWarning(ctx, "", fmt.Sprintf("it would be refused if spec was changed: %s", detailsOf(err)))
		}
	}
}

// detailsOf returns what an error says beyond the name of its object.
func detailsOf(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) != 1 {
		return err.Error()
	}
	cause := status.ErrStatus.Details.Causes[0]
	return cause.Field + ": " + cause.Message
}
