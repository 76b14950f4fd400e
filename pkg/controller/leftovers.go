// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/line"
)

// leftovers remembers, of the spec that was seen last, whether objects are still to be
// looked for that were held before and that nobody will see.
type leftovers struct {
	spec specOf
	sure bool
}

// letGoOfLeftovers takes the finalizer off what a controller has held before it had no
// finalize hook, where the status does not tell that it has: another server may have run
// it. Of what its watches show it does so itself. They do not show what its selectors do
// not select, so that is looked through once, when the spec is new.
func (r *reconciler) letGoOfLeftovers(ctx context.Context, hosted *hostedController, object declared, spec *line.Spec) error {
	known := &hosted.leftovers
	if current := (specOf{object.GetUID(), object.GetGeneration()}); known.spec != current {
		*known = leftovers{spec: current, sure: spec.SeesAll() || object.GetStatus().ObservedGeneration == object.GetGeneration()}
	}
	if known.sure {
		return nil
	}
	err := r.drain(ctx, hosted, object, object.ParentTypes())
	if errors.Is(err, errTurnOver) {
		klog.FromContext(ctx).Info("There are too many objects to look through all of them for a finalizer left from before", "controller", object.GetName())
		err = nil
	}
	known.sure = err == nil
	return err
}
