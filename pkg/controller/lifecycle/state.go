// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// controllerEntry is what there is to one CompositeController or DecoratorController: the
// controller that runs, and why a newer one does not.
type controllerEntry struct {
	name string

	mu sync.Mutex
	// controller runs as running said, with the types of spec; nil if none runs.
	controller *hosted.Controller
	running    declared
	spec       *hosted.Spec
	cancel     context.CancelFunc
	done       chan struct{}
	// problem is why the spec of problemOf does not run; nil if that of running does.
	problem   *report.Problem
	problemOf declared
	// stopFollowing ends the following of the Secret or ConfigMap that has to change before
	// the spec of problemOf can run; nil if there is none. Only reconciling uses it.
	stopFollowing func()
	// seen is the spec that was seen last, and seenSince when it first was.
	seen      specOf
	seenSince time.Time
	// leftovers is only used by reconciling.
	leftovers leftovers
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
func (h *controllerEntry) isNew(object declared, now time.Time) bool {
	if spec := (specOf{object.GetUID(), object.GetGeneration()}); h.seen != spec {
		h.seen, h.seenSince = spec, now
	}
	return now.Sub(h.seenSince) < newFor
}

// see takes note of the object that there is, also of one that is gone again before anything is
// written of it.
func (h *controllerEntry) see(object declared) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isNew(object, time.Now()) // it notes since when
}

// runs tells whether what the object asks for is what runs.
func (h *controllerEntry) runs(object declared, spec *hosted.Spec) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.controller != nil && equalSpecs(h.running, object) && h.spec.SameTypes(spec)
}

// setProblem remembers why the object's spec does not run, nil if it does. It tells
// whether that is news.
func (h *controllerEntry) setProblem(object declared, problem *report.Problem) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.problem
	h.problem, h.problemOf = problem, object
	return problem != nil && (before == nil || before.Err.Error() != problem.Err.Error())
}

// setUndrained remembers why parents are not let go, nil if they are. It tells whether
// that is news.
func (h *controllerEntry) setUndrained(err error) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.undrained
	h.undrained = err
	return err != nil && (before == nil || before.Error() != err.Error())
}

// setDeleting remembers that the object is being deleted, and what it waits for.
func (h *controllerEntry) setDeleting(object declared) {
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
func (h *controllerEntry) looked(object declared) bool {
	if h.problem != nil {
		return equalSpecs(h.problemOf, object)
	}
	return h.controller != nil && equalSpecs(h.running, object)
}

// misses tells whether what runs under a name has found a type of the group missing.
func (r *Reconciler) misses(name, group string) bool {
	r.mu.Lock()
	entry := r.byName[name]
	r.mu.Unlock()
	if entry == nil {
		return false
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	return entry.controller != nil && entry.controller.MissesTypeOf(group)
}

func (r *Reconciler) of(name string) *controllerEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.byName[name]
	if entry == nil {
		entry = &controllerEntry{name: name}
		r.byName[name] = entry
	}
	return entry
}

// replace stops what runs and starts next in its place. The watches that both use
// go on, since next has acquired them already or takes them over.
func (r *Reconciler) replace(ctx context.Context, entry *controllerEntry, object declared, spec *hosted.Spec, next *hosted.Controller) {
	next.TakeOver(entry.controller)
	r.stop(ctx, entry)
	logger := klog.FromContext(ctx).WithValues("controller", object.GetName())
	logger.Info("Starting controller")
	r.Events.Starting(object, object.GetName())

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		next.Run(running)
	}()
	entry.mu.Lock()
	entry.controller, entry.running, entry.spec = next, object, spec
	entry.cancel, entry.done, entry.problem = cancel, done, nil
	// What it counts is not worth telling before it has seen its parents.
	entry.statusLooked = time.Now()
	entry.mu.Unlock()
	logger.Info("Started controller")
	r.Events.Started(object, object.GetName())
}

// stop stops what runs, if anything does, and waits until it has.
func (r *Reconciler) stop(ctx context.Context, entry *controllerEntry) {
	entry.mu.Lock()
	running, cancel, done := entry.running, entry.cancel, entry.done
	entry.controller, entry.running, entry.spec, entry.cancel = nil, nil, nil, nil
	entry.mu.Unlock()
	if cancel == nil {
		return
	}
	logger := klog.FromContext(ctx).WithValues("controller", running.GetName())
	logger.Info("Stopping controller")
	r.Events.Stopping(running, running.GetName())
	cancel()
	<-done
	logger.Info("Stopped controller")
	r.Events.Stopped(running, running.GetName())
}

// remove stops what runs under a name and forgets it.
func (r *Reconciler) remove(ctx context.Context, name string) {
	r.mu.Lock()
	entry := r.byName[name]
	delete(r.byName, name)
	r.mu.Unlock()
	if entry == nil {
		return
	}
	entry.stopWaiting()
	r.stop(ctx, entry)
	if err := r.disown(ctx, entry); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Write status of "+r.kind.Name, "controller", name)
	}
}

// stopAll stops everything at once.
func (r *Reconciler) stopAll(ctx context.Context) {
	var stopping sync.WaitGroup
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, entry := range r.byName {
		stopping.Go(func() {
			entry.stopWaiting()
			r.stop(ctx, entry)
		})
	}
	stopping.Wait()
}
