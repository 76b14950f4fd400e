// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// controllerState is what is known of the controller object of one name: the controller that runs
// for it, and why its current spec does not run.
//
// The fields above mu are used only by the worker that reconciles the name; the queue gives a name
// to one worker at a time. The fields below mu are also used by the writer of the status, and mu
// guards them.
type controllerState struct {
	name string
	// accountRequired is true if new controllers need a service account.
	accountRequired bool

	// stopFollowing ends followSource; nil if no Secret or ConfigMap is followed.
	stopFollowing func()
	// required is what the current spec needs to read; nil if it acts as no service account.
	required *permissions.Requirement
	// asking is true while the cluster is asked about what is required.
	asking atomic.Bool
	// lacksChild is true if the host lacked a child type of the controller that runs.
	lacksChild bool
	// leftovers is the result of removeLeftFinalizers.
	leftovers leftovers
	// drainErr is why finalizers are still on parents that should have lost them; nil if nothing
	// is known to prevent it.
	drainErr error

	mu sync.Mutex
	// seen is the spec of the object when it was last read.
	seen seenSpec
	// running is nil if no controller runs.
	running *running
	// prepared is to replace running when it sees its objects; nil if running has the current spec,
	// or nothing can be made of it.
	prepared *prepared
	// problem is why the spec of problemObject does not run; nil if running or prepared has the
	// current spec.
	problem       *report.Problem
	problemObject controllerObject
	// statusChecked is when the status of the object was last compared with the state.
	statusChecked time.Time
	// quiet is what the status shows.
	quiet quietStatus
	// statusFailed is when a write of the status last failed.
	statusFailed time.Time
}

// specID identifies one version of the spec of one object.
type specID struct {
	uid        types.UID
	generation int64
}

func specIDOf(object controllerObject) specID {
	return specID{object.GetUID(), object.GetGeneration()}
}

// seenSpec is a version of a spec, and when it was first seen.
type seenSpec struct {
	id    specID
	since time.Time
}

// writeDelay is how long an object with a new spec is not written. A user who creates a controller
// and then changes it, based on the answer to the creation, would be in conflict with such a write.
const writeDelay = statusTick

// isNew reports whether the spec of the object was not seen writeDelay ago.
func (s seenSpec) isNew(object controllerObject, now time.Time) bool {
	return s.id != specIDOf(object) || now.Sub(s.since) < writeDelay
}

// see notes which spec the object has, and since when. It notes this of each object, also of
// one that is deleted before it is written.
func (s *controllerState) see(object controllerObject, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := specIDOf(object); s.seen.id != id {
		s.seen = seenSpec{id, now}
	}
}

// errSpecIsNew is the error of a write that waits for writeDelay.
var errSpecIsNew = errors.New("the spec has just changed")

// mayWrite returns errSpecIsNew if the object must not be written yet.
func (s *controllerState) mayWrite(object controllerObject) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.isNew(object, time.Now()) {
		return errSpecIsNew
	}
	return nil
}

// getRunning returns what runs; nil if nothing does.
func (s *controllerState) getRunning() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// setRunning sets what runs, nil for nothing.
func (s *controllerState) setRunning(running *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
	if running != nil {
		s.problem = nil
		// The controller has not seen its parents yet, so its counts are not written at once.
		s.statusChecked = time.Now()
	}
}

// getPrepared returns what is to replace what runs; nil if nothing is.
func (s *controllerState) getPrepared() *prepared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepared
}

// setPrepared sets what is to replace what runs, nil for nothing.
func (s *controllerState) setPrepared(next *prepared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared = next
}

// runs reports whether the controller that runs has the spec of the object, with the same types.
func (s *controllerState) runs(object controllerObject, spec *hosted.Spec) bool {
	running := s.getRunning()
	return running != nil && equalSpecs(running.object, object) && running.spec.SameTypes(spec)
}

// setProblem sets why the spec of the object does not run, nil if it does. It reports whether the
// problem is another than before.
func (s *controllerState) setProblem(object controllerObject, problem *report.Problem) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.problem
	s.problem, s.problemObject = problem, object
	return problem != nil && (before == nil || before.Err.Error() != problem.Err.Error())
}

// setDeleting sets the problem of an object that is being deleted: it does not run, and waits until
// the finalizers are off its parents.
func (s *controllerState) setDeleting(object controllerObject) {
	err := errors.New("the controller is being deleted and no longer runs; it goes when its finalizer is off all its parents")
	if s.drainErr != nil {
		err = fmt.Errorf("the controller is being deleted and waits for its parents: %w (the annotation %s: \"true\" has it deleted all the same)",
			s.drainErr, v1alpha1.SkipDrainAnnotation)
	}
	s.setProblem(object, &report.Problem{Reason: report.ReasonDeleting, Err: err})
}

// setDrainErr sets why finalizers cannot be removed from parents, nil if they can. It reports
// whether the error is another than before.
func (s *controllerState) setDrainErr(err error) (changed bool) {
	before := s.drainErr
	s.drainErr = err
	return err != nil && (before == nil || before.Error() != err.Error())
}

// isCurrent reports whether the problem, or what runs or is prepared, is that of the object's spec, and not of an
// earlier one. The caller holds mu.
func (s *controllerState) isCurrent(object controllerObject) bool {
	if s.problem != nil {
		return equalSpecs(s.problemObject, object)
	}
	if s.prepared != nil {
		return equalSpecs(s.prepared.object, object)
	}
	return s.running != nil && equalSpecs(s.running.object, object)
}

// equalSpecs reports whether two objects have the same spec. The generation is compared first: it
// is fast, and the status of each controller asks this four times a second.
func equalSpecs(a, b controllerObject) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	return a.GetGeneration() == b.GetGeneration() && a.GetGeneration() != 0 || equality.Semantic.DeepEqual(a.GetSpec(), b.GetSpec())
}
