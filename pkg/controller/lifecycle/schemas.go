// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

const (
	// schemasRecheck is how soon a controller is looked at again whose child types the host
	// may describe otherwise in a moment.
	schemasRecheck = 5 * time.Second
	// schemasRetry is how soon one is that has child types which the host does not describe.
	schemasRetry = time.Minute
)

// followSchemas has a controller looked at again that may not know yet what the host
// publishes of its child types.
func (r *Reconciler) followSchemas(ctx context.Context, spec *hosted.Spec) {
	if spec.SchemasErr != nil {
		klog.FromContext(ctx).Error(spec.SchemasErr, "Children are merged without knowing their types", "controller", spec.Name)
	}
	switch {
	case !spec.SchemasSettled:
		r.queue.AddAfter(spec.Name, schemasRecheck)
	case len(spec.Schemas) < len(spec.Children):
		r.queue.AddAfter(spec.Name, schemasRetry)
	}
}
