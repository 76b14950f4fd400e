// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
)

// hostedComposite is what there is to one CompositeController: the controller that
// runs, and why a newer one does not.
type hostedComposite struct {
	name string

	mu sync.Mutex
	// controller runs as running said, with the types of spec; nil if none runs.
	controller *composite.Controller
	running    *v1alpha1.CompositeController
	spec       *composite.Spec
	cancel     context.CancelFunc
	done       chan struct{}
	// problem is why the spec of problemOf does not run; nil if that of running does.
	problem   *report.Problem
	problemOf *v1alpha1.CompositeController
	// stopFollowing ends the following of the Secret or ConfigMap that has to change before
	// the spec of problemOf can run; nil if there is none. Only reconciling uses it.
	stopFollowing func()
	// seen is the spec that was seen last, and seenSince when it first was.
	seen      specOf
	seenSince time.Time
	// undrained is why parents that are to be let go are not, nil if nothing is known to
	// stand in the way.
	undrained error
	// statusLooked is when the status was last compared with the truth.
	statusLooked time.Time
	// statusRefused is when writing the status last failed.
	statusRefused time.Time
}

// specOf is one version of the spec of one object.
type specOf struct {
	uid        types.UID
	generation int64
}

// isNew tells whether the object's spec has been seen for so short a time that the object
// is to be left alone.
func (h *hostedComposite) isNew(object *v1alpha1.CompositeController, now time.Time) bool {
	if spec := (specOf{object.UID, object.Generation}); h.seen != spec {
		h.seen, h.seenSince = spec, now
	}
	return now.Sub(h.seenSince) < newFor
}

// runs tells whether what the object asks for is what runs.
func (h *hostedComposite) runs(object *v1alpha1.CompositeController, spec *composite.Spec) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.controller != nil && equalSpecs(h.running, object) &&
		h.spec.Parent == spec.Parent && reflect.DeepEqual(h.spec.Children, spec.Children)
}

// setProblem remembers why the object's spec does not run, nil if it does. It tells
// whether that is news.
func (h *hostedComposite) setProblem(object *v1alpha1.CompositeController, problem *report.Problem) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.problem
	h.problem, h.problemOf = problem, object
	return problem != nil && (before == nil || before.Err.Error() != problem.Err.Error())
}

// setUndrained remembers why parents are not let go, nil if they are. It tells whether
// that is news.
func (h *hostedComposite) setUndrained(err error) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.undrained
	h.undrained = err
	return err != nil && (before == nil || before.Error() != err.Error())
}

// setDeleting remembers that the object is being deleted, and what it waits for.
func (h *hostedComposite) setDeleting(object *v1alpha1.CompositeController) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.New("the controller is being deleted and no longer runs; it goes when its finalizer is off all its parents")
	if h.undrained != nil {
		err = fmt.Errorf("the controller is being deleted and waits for its parents: %w (the annotation %s: \"true\" has it deleted all the same)",
			h.undrained, v1alpha1.SkipDrainAnnotation)
	}
	h.problem, h.problemOf = &report.Problem{Reason: report.ReasonDeleting, Err: err}, object
}

// looked tells whether what there is is about the object's spec, and not still about
// an earlier one.
func (h *hostedComposite) looked(object *v1alpha1.CompositeController) bool {
	if h.problem != nil {
		return equalSpecs(h.problemOf, object)
	}
	return h.controller != nil && equalSpecs(h.running, object)
}

// misses tells whether what runs under a name has found a type of the group missing.
func (c *composites) misses(name, group string) bool {
	c.mu.Lock()
	hosted := c.byName[name]
	c.mu.Unlock()
	if hosted == nil {
		return false
	}
	hosted.mu.Lock()
	defer hosted.mu.Unlock()
	return hosted.controller != nil && hosted.controller.MissesTypeOf(group)
}

func (c *composites) of(name string) *hostedComposite {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosted := c.byName[name]
	if hosted == nil {
		hosted = &hostedComposite{name: name}
		c.byName[name] = hosted
	}
	return hosted
}

// replace stops what runs and starts next in its place. The watches that both use
// go on, since next has acquired them already or takes them over.
func (c *composites) replace(ctx context.Context, hosted *hostedComposite, object *v1alpha1.CompositeController, spec *composite.Spec, next *composite.Controller) {
	next.TakeOver(hosted.controller)
	c.stop(ctx, hosted)
	logger := klog.FromContext(ctx).WithValues("controller", object.Name)
	logger.Info("Starting controller")
	c.Events.Starting(object, object.Name)

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		next.Run(running)
	}()
	hosted.mu.Lock()
	hosted.controller, hosted.running, hosted.spec = next, object, spec
	hosted.cancel, hosted.done, hosted.problem = cancel, done, nil
	hosted.mu.Unlock()
	logger.Info("Started controller")
	c.Events.Started(object, object.Name)
}

// stop stops what runs, if anything does, and waits until it has.
func (c *composites) stop(ctx context.Context, hosted *hostedComposite) {
	hosted.mu.Lock()
	running, cancel, done := hosted.running, hosted.cancel, hosted.done
	hosted.controller, hosted.running, hosted.spec, hosted.cancel = nil, nil, nil, nil
	hosted.mu.Unlock()
	if cancel == nil {
		return
	}
	logger := klog.FromContext(ctx).WithValues("controller", running.Name)
	logger.Info("Stopping controller")
	c.Events.Stopping(running, running.Name)
	cancel()
	<-done
	logger.Info("Stopped controller")
	c.Events.Stopped(running, running.Name)
}

// remove stops what runs under a name and forgets it.
func (c *composites) remove(ctx context.Context, name string) {
	c.mu.Lock()
	hosted := c.byName[name]
	delete(c.byName, name)
	c.mu.Unlock()
	if hosted != nil {
		hosted.stopWaiting()
		c.stop(ctx, hosted)
	}
}

// stopAll stops everything at once.
func (c *composites) stopAll(ctx context.Context) {
	var stopping sync.WaitGroup
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hosted := range c.byName {
		stopping.Go(func() {
			hosted.stopWaiting()
			c.stop(ctx, hosted)
		})
	}
	stopping.Wait()
}
