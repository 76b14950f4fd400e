// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
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
// not select, so that is looked through, once for all controllers.
func (r *Reconciler) letGoOfLeftovers(ctx context.Context, entry *controllerEntry, object declared, spec *hosted.Spec) error {
	known := &entry.leftovers
	if current := (specOf{object.GetUID(), object.GetGeneration()}); known.spec != current {
		*known = leftovers{spec: current, sure: spec.SeesAll() || object.GetStatus().ObservedGeneration == object.GetGeneration()}
	}
	if known.sure {
		return nil
	}
	finalizer := r.kind.Finalizer(object.GetName())
	for _, rule := range object.ParentTypes() {
		found, err := r.searches.finds(ctx, rule, object.GetUID(), finalizer)
		if err != nil {
			return r.cannotLetGo(entry, object, rule, err)
		}
		if !found {
			continue
		}
		if err := r.drain(ctx, entry, object, []v1alpha1.ResourceRule{rule}); err != nil {
			return err
		}
		r.searches.takenOff(rule, finalizer)
	}
	known.sure = true
	return nil
}

// findFinalizers returns the finalizers of controllers of the kind that are on objects of a type. Of
// more objects than one turn can look through it tells those of the first.
func (r *Reconciler) findFinalizers(ctx context.Context, rule v1alpha1.ResourceRule) (sets.Set[string], error) {
	turn, cancel := context.WithTimeout(ctx, drainTurn)
	defer cancel()
	found, err := r.drainer.Find(turn, rule.APIVersion, rule.Resource, r.kind.FinalizerPrefix)
	if err != nil && turn.Err() != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Info("There are too many objects to look through all of them for finalizers left from before",
			"apiVersion", rule.APIVersion, "resource", rule.Resource)
		return found, nil
	}
	return found, err
}

// present are the controllers of the kind that there are.
func (r *Reconciler) present() sets.Set[types.UID] {
	present := sets.New[types.UID]()
	objects, err := r.own.list()
	if err != nil {
		return present // a cache does not fail
	}
	for _, object := range objects {
		present.Insert(object.GetUID())
	}
	return present
}
