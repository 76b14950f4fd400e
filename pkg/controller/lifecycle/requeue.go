// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// Beside its own events, a controller object is reconciled again when the host changes the types
// that it uses (GroupChanged), may publish other schemas of them (recheckSchemas), or changes the
// Secret or ConfigMap that its hooks miss (followSource).

// recheckAfter is how long after the definition of a type changed discovery may still return the
// former one.
const recheckAfter = discovery.SettleTime + time.Second

// GroupChanged enqueues the controllers that use types of an API group of the host.
func (r *Reconciler) GroupChanged(group string) {
	objects, err := r.api.list()
	if err != nil {
		return // an informer does not fail
	}
	for _, object := range objects {
		if uses(object, group) || r.misses(object.GetName(), group) {
			r.queue.Forget(object.GetName())
			r.queue.Add(object.GetName())
			r.queue.AddAfter(object.GetName(), recheckAfter)
		}
	}
}

// uses reports whether the spec of an object names a type of an API group.
func uses(object controllerObject, group string) bool {
	types := slices.Concat(object.ParentTypes(), object.ChildTypes(), object.GetAccess().RelatedResources)
	return slices.ContainsFunc(types, func(rule v1alpha1.ResourceRule) bool {
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		return err == nil && version.Group == group
	})
}

// misses reports whether the controller of a name needs a related type of an API group that the
// host did not have.
func (r *Reconciler) misses(name, group string) bool {
	running := r.runningNamed(name)
	return running != nil && running.controller.MissesTypeOf(group)
}

const (
	// schemasRecheck is when a controller is reconciled again if the host may soon publish other
	// schemas of its types.
	schemasRecheck = 5 * time.Second
	// schemasRetry is when it is reconciled again if the host publishes no schema of one of them.
	schemasRetry = time.Minute
)

// recheckSchemas requeues a controller that may not have the schemas of its types yet.
func (r *Reconciler) recheckSchemas(ctx context.Context, spec *hosted.Spec) {
	if spec.SchemasErr != nil {
		klog.FromContext(ctx).Error(spec.SchemasErr, "Failed to read the schemas of all types; children without one are merged without it", "controller", spec.Name)
	}
	switch {
	case !spec.SchemasStable:
		r.queue.AddAfter(spec.Name, schemasRecheck)
	case spec.LacksSchemas():
		r.queue.AddAfter(spec.Name, schemasRetry)
	}
}

// followSource enqueues a controller when the Secret or ConfigMap changes that it cannot run
// without. It reports whether the error names one, and the host lets it be followed.
func (r *Reconciler) followSource(ctx context.Context, state *controllerState, err error) bool {
	// The former one is followed until the new one is: it may be the same.
	if state.stopFollowing != nil {
		defer state.stopFollowing()
		state.stopFollowing = nil
	}
	unusable, ok := errors.AsType[*hook.SourceError](err)
	if !ok {
		return false
	}
	ctx, cancel := withReadTimeout(withController(ctx, state.name))
	defer cancel()
	stop, err := r.Informers.Follow(ctx, unusable.Type, unusable.Name, func(now *object.Object) {
		if resourceVersion(now) != unusable.ResourceVersion {
			r.queue.Forget(state.name)
			r.queue.Add(state.name)
		}
	})
	if err != nil {
		return false // the problem of the controller says already that the host refuses
	}
	state.stopFollowing = stop
	return true
}

// endFollowing ends followSource.
func (s *controllerState) endFollowing() {
	if s.stopFollowing != nil {
		s.stopFollowing()
		s.stopFollowing = nil
	}
}

// resourceVersion returns the resource version of an object, empty if it is nil.
func resourceVersion(of *object.Object) string {
	if of == nil {
		return ""
	}
	return of.ResourceVersion
}

// readTimeout is how long the host may take to return a Secret or ConfigMap.
const readTimeout = 10 * time.Second

func withReadTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("no answer within %s", readTimeout))
}
