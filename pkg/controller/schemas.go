// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/composite"
)

// schemasRecheck is how soon a controller is looked at again whose child types the host
// does not all describe. A definition's change comes before that.
const schemasRecheck = time.Minute

// missSchemas has a controller looked at again that does without what the host
// publishes of some child type.
func (c *composites) missSchemas(ctx context.Context, spec *composite.Spec) {
	if spec.SchemasErr != nil {
		klog.FromContext(ctx).Error(spec.SchemasErr, "Children are merged without knowing their types", "controller", spec.Name)
	}
	if len(spec.Schemas) < len(spec.Children) {
		c.queue.AddAfter(spec.Name, schemasRecheck)
	}
}
