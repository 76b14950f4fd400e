// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain lets go of the objects that a controller has held by its finalizer, once
// the controller no longer runs.
package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// Drainer takes finalizers off objects of the host.
type Drainer struct {
	Client    *host.Client
	Discovery *discovery.Discovery
	// Actor writes, and bounds how many writes are under way at once.
	Actor *act.Actor
	// Unfinalized is told about each object that is let go while it waits to be finalized.
	Unfinalized func(released *object.Object, finalizer string)
}

// attempts is how often an object is looked at again that somebody else writes at the
// same time.
const attempts = 5

// Drain takes the finalizer off all objects of a resource. Nobody may put it on any more.
// A resource that the host does not serve in any version has no objects. The error tells
// how many objects keep the finalizer, and why the first of them does; the others have
// lost it all the same.
func (d *Drainer) Drain(ctx context.Context, apiVersion, resource, finalizer string) error {
	of, err := d.Discovery.ResolveInAnyVersion(ctx, apiVersion, resource)
	if _, gone := errors.AsType[*discovery.UnknownTypeError](err); gone {
		return nil
	}
	if err != nil {
		return err
	}
	var failures []error
	err = d.Client.Pages(ctx, of, finalizer, func(page []*object.Object) error {
		failures = append(failures, d.release(ctx, of, finalizer, page)...)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("objects that keep the finalizer %s: %d; the first: %w", finalizer, len(failures), failures[0])
	}
	return nil
}

// Find returns the finalizers whose names begin with the prefix and that are on objects of a
// resource. A resource that the host does not serve in any version has no objects.
func (d *Drainer) Find(ctx context.Context, apiVersion, resource, prefix string) (sets.Set[string], error) {
	found := sets.New[string]()
	of, err := d.Discovery.ResolveInAnyVersion(ctx, apiVersion, resource)
	if _, gone := errors.AsType[*discovery.UnknownTypeError](err); gone {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	err = d.Client.Pages(ctx, of, prefix, func(page []*object.Object) error {
		for _, held := range page {
			for _, finalizer := range held.Finalizers {
				if strings.HasPrefix(finalizer, prefix) {
					found.Insert(finalizer)
				}
			}
		}
		return ctx.Err()
	})
	return found, err
}

// release takes the finalizer off those of the objects that carry it, and returns what
// stood in the way.
func (d *Drainer) release(ctx context.Context, of pipeline.Type, finalizer string, objects []*object.Object) (failures []error) {
	for range attempts {
		released, err := releases(of, finalizer, objects)
		if err != nil {
			return append(failures, err)
		}
		objects = nil
		for _, outcome := range d.Actor.Act(ctx, &pipeline.Snapshot{}, released) {
			if outcome.Err != nil {
				failures = append(failures, outcome.Err)
				continue
			}
			if !outcome.Conflict {
				if outcome.Observed.DeletionTimestamp != nil {
					d.Unfinalized(outcome.Observed, finalizer)
				}
				continue
			}
			fresh, err := d.Actor.Writer.Get(ctx, of, outcome.Observed.Key())
			switch {
			case err == nil:
				objects = append(objects, fresh)
			case !apierrors.IsNotFound(err):
				failures = append(failures, err)
			}
		}
		if len(objects) == 0 {
			return failures
		}
	}
	for _, busy := range objects {
		failures = append(failures, fmt.Errorf("%s changes again and again", busy))
	}
	return failures
}

// releases is the plan that takes the finalizer off the objects that carry it.
func releases(of pipeline.Type, finalizer string, objects []*object.Object) (*pipeline.Plan, error) {
	planned := &pipeline.Plan{}
	for _, held := range objects {
		step, err := plan.RemoveFinalizerStep(&pipeline.Snapshot{ParentType: of, Parent: held, Finalizer: finalizer}, "its controller is no longer there for it")
		if err != nil {
			return nil, err
		}
		if step != nil {
			planned.Steps = append(planned.Steps, *step)
		}
	}
	return planned, nil
}
