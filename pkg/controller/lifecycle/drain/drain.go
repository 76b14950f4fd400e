// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// Drainer removes finalizers from objects of the host.
type Drainer struct {
	Client    *host.Client
	Discovery *discovery.Discovery
	// Actor writes, and limits how many writes are under way at once.
	Actor *act.Actor
	// NotFinalized is called with each object that loses the finalizer while it is being deleted:
	// its finalize hook has not answered that it is done.
	NotFinalized func(parent *object.Object, finalizer string)
}

// turn is the maximum time for one Drain or one scan. After that the caller sees whether the result
// is still wanted.
const turn = 30 * time.Second

// ErrTurnOver is the error of a Drain that found more objects than it could write in one turn. The
// next one continues.
var ErrTurnOver = errors.New("there are more objects to remove the finalizer from")

// Drain removes a finalizer from all objects of resources, one resource after the other. Nothing may
// put it on objects at the same time. A resource that the host does not serve in any version has
// no objects. The error is ErrTurnOver, or says for how many objects of a resource it failed, and
// why for the first; the other objects of that resource have lost the finalizer.
func (d *Drainer) Drain(ctx context.Context, finalizer string, resources []v1alpha1.ResourceRule) error {
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	for _, rule := range resources {
		klog.FromContext(ctx).Info("Removing finalizer from parents", "finalizer", finalizer, "apiVersion", rule.APIVersion, "resource", rule.Resource)
		err := d.drain(ctx, rule, finalizer)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return ErrTurnOver
		}
		return failed(rule, err)
	}
	return nil
}

// failed adds to an error which resource it is about.
func failed(rule v1alpha1.ResourceRule, err error) error {
	return fmt.Errorf("remove the finalizer from %s of %s: %w", rule.Resource, rule.APIVersion, err)
}

// resolve finds the type of a rule, and reports whether the host serves it in any version.
func (d *Drainer) resolve(ctx context.Context, rule v1alpha1.ResourceRule) (of object.Type, served bool, err error) {
	of, err = d.Discovery.ResolveInAnyVersion(ctx, rule.APIVersion, rule.Resource)
	if _, unknown := errors.AsType[*discovery.UnknownTypeError](err); unknown {
		return of, false, nil
	}
	return of, err == nil, err
}

func (d *Drainer) drain(ctx context.Context, rule v1alpha1.ResourceRule, finalizer string) error {
	of, served, err := d.resolve(ctx, rule)
	if !served {
		return err
	}
	var failures []error
	// Whole objects, since the finalizer is removed by an update.
	err = d.Client.Pages(ctx, of, finalizer, func(page []*object.Object) error {
		failures = append(failures, d.remove(ctx, of, finalizer, page)...)
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

// maxAttempts is the maximum number of writes of an object that others write at the same time.
const maxAttempts = 5

// remove removes the finalizer from the objects that have it, and returns the errors.
func (d *Drainer) remove(ctx context.Context, of object.Type, finalizer string, objects []*object.Object) (failures []error) {
	for range maxAttempts {
		removal, err := removalPlan(of, finalizer, objects)
		if err != nil {
			return append(failures, err)
		}
		objects = nil
		for _, outcome := range d.Actor.Act(ctx, &pipeline.Snapshot{}, removal) {
			if outcome.Err != nil {
				failures = append(failures, outcome.Err)
				continue
			}
			if !outcome.Conflict {
				if outcome.Observed.DeletionTimestamp != nil {
					d.NotFinalized(outcome.Observed, finalizer)
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

// removalPlan returns the plan that removes the finalizer from the objects that have it.
func removalPlan(of object.Type, finalizer string, objects []*object.Object) (*pipeline.Plan, error) {
	removal := &pipeline.Plan{}
	for _, parent := range objects {
		step, err := plan.RemoveFinalizerStep(&pipeline.Snapshot{ParentType: of, Parent: parent, Finalizer: finalizer}, "its controller is no longer there for it")
		if err != nil {
			return nil, err
		}
		if step != nil {
			removal.Steps = append(removal.Steps, *step)
		}
	}
	return removal, nil
}
