// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsCustom tells whether a resource comes from a CustomResourceDefinition; the others
// are built in or served by another API server. If the host could not tell, the error is
// a *Error.
func (d *Discovery) IsCustom(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	name := resource.GroupResource()
	d.mu.Lock()
	custom, known := d.custom[name]
	d.mu.Unlock()
	if known {
		return custom, nil
	}
	asked := time.Now()
	_, err := d.client.Get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name.String(), nil)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, &Error{APIVersion: resource.GroupVersion().String(), Err: err}
	}
	custom = err == nil
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked.Sub(d.changes[name.Group]) > SettleTime {
		d.custom[name] = custom
	}
	return custom, nil
}
