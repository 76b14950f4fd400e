// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsCustom tells whether a resource comes from a CustomResourceDefinition; the others
// are built in or served by another API server. If the host could not tell, the error is
// a *DiscoveryError.
func (d *Discovery) IsCustom(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	name := resource.GroupResource()
	d.mu.Lock()
	custom, known := d.custom[name]
	d.mu.Unlock()
	if known {
		return custom, nil
	}
	asked := time.Now()
	err := d.client.rest.Get().AbsPath(path(definitions, "")...).Name(name.String()).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return false, &DiscoveryError{APIVersion: resource.GroupVersion().String(), Err: err}
	}
	custom = err == nil
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked.Sub(d.changes[name.Group]) > SettleTime {
		d.custom[name] = custom
	}
	return custom, nil
}
