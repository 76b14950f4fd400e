// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// states has the states of the controller objects of one kind.
type states struct {
	// accountRequired is true if new controllers need a service account.
	accountRequired bool

	mu     sync.Mutex
	byName map[string]*controllerState
}

func newStates(accountRequired bool) *states {
	return &states{accountRequired: accountRequired, byName: map[string]*controllerState{}}
}

// of returns the state of a name. It makes a new one if there is none.
func (s *states) of(name string) *controllerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byName[name]
	if state == nil {
		state = &controllerState{name: name, accountRequired: s.accountRequired}
		s.byName[name] = state
	}
	return state
}

// known returns the state of a name; nil if there is none.
func (s *states) known(name string) *controllerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// running returns the controller that runs for a name; nil if none does.
func (s *states) running(name string) *running {
	if state := s.known(name); state != nil {
		return state.getRunning()
	}
	return nil
}

func (s *states) all() []*controllerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byName))
}

func (s *states) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
}

// controllerState is the state of the controller object of one name: the controller that runs for it, and why its
// current spec does not run.
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
	// required are the permissions to read that the current spec needs; nil without a service account.
	required *permissions.Requirement
	// asking is true while reviews of the required permissions are in progress.
	asking atomic.Bool
	// lacksType is true if the host lacks a type that the controller runs without.
	lacksType bool
	// leftovers is the result of removeLeftFinalizers.
	leftovers leftovers
	// left is the UID of the object whose controller has finalized what is deleted with it. From then on, it stays
	// stopped.
	left types.UID
	// drainErr says why finalizers could not be removed from parents; nil if no reason is known.
	drainErr error

	mu sync.Mutex
	// seen is the spec of the object when it was last read.
	seen seenSpec
	// running is nil if no controller runs.
	running *running
	// prepared will replace running when it sees its objects; nil if running has the current spec, or no controller can be
	// made from that.
	prepared *prepared
	// problem describes what keeps the spec of problemObject from running. It is nil if running or prepared has the
	// current spec.
	problem       *report.Problem
	problemObject controllerObject
	// statusChecked is the time at which the status of the object was last compared with the state.
	statusChecked time.Time
	// quiet is true if the status shows Quiet.
	quiet quietStatus
	// statusFailed is the time at which a write of the status last failed.
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

// writeDelay is the time for which an object with a new spec is not written. Such a write would conflict with the
// update of a user who creates a controller and then changes it, based on the response to the creation.
const writeDelay = statusTick

// isNew reports whether the spec of the object was not seen writeDelay ago.
func (s seenSpec) isNew(object controllerObject, now time.Time) bool {
	return s.id != specIDOf(object) || now.Sub(s.since) < writeDelay
}

// see records which spec the object has, and since when. It does so for each object, even if the object is deleted
// before it is written.
func (s *controllerState) see(object controllerObject, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := specIDOf(object); s.seen.id != id {
		s.seen = seenSpec{id, now}
	}
}

// seenSince returns the time at which this process first saw the current spec, or the deletion of the object.
func (s *controllerState) seenSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.since
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

// getRunning returns the running controller; nil if there is none.
func (s *controllerState) getRunning() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// setRunning sets the running controller, nil for none.
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

// getPrepared returns the controller that will replace the running one; nil if there is none.
func (s *controllerState) getPrepared() *prepared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepared
}

// setPrepared sets the controller that will replace the running one, nil for none.
func (s *controllerState) setPrepared(next *prepared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared = next
}

// runs reports whether the controller that runs has the spec of the object, with the same types.
func (s *controllerState) runs(object controllerObject, spec *parentcontroller.Spec) bool {
	running := s.getRunning()
	return running != nil && equalSpecs(running.object, object) && running.spec.SameTypes(spec)
}

// setProblem sets why the spec of the object does not run, nil if it does. It reports whether there is a problem that
// differs from the one before.
func (s *controllerState) setProblem(object controllerObject, problem *report.Problem) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.problem
	if problem != nil {
		problem.Since = time.Now()
		stalled := meta.FindStatusCondition(object.GetStatus().Conditions, v1alpha1.ConditionStalled)
		switch {
		case before != nil && before.Reason == problem.Reason && equalSpecs(s.problemObject, object):
			problem.Since = before.Since
		case stalled != nil && stalled.Reason == problem.Reason && stalled.ObservedGeneration == object.GetGeneration():
			problem.Since = stalled.LastTransitionTime.Time // an earlier process has found the problem
		}
	}
	s.problem, s.problemObject = problem, object
	return problem != nil && (before == nil || before.Err.Error() != problem.Err.Error())
}

// setDeleting sets the problem of an object that is being deleted: the reason why its controller has not stopped yet,
// or, if that is nil, that its finalizer is being removed from its parents.
func (s *controllerState) setDeleting(object controllerObject, wait error) {
	err := cmp.Or(wait, errors.New("the controller is being deleted and no longer runs; its deletion ends when all its "+
		"parents have lost its finalizer"))
	if s.drainErr != nil && wait == nil {
		err = fmt.Errorf("the controller is being deleted and waits for its parents: %w "+
			"(set the annotation %s: \"true\" to delete it anyway)", s.drainErr, v1alpha1.SkipDrainAnnotation)
	}
	s.setProblem(object, &report.Problem{Reason: v1alpha1.ReasonDeleting, Err: err})
}

// setDrainErr sets why finalizers cannot be removed from parents, nil if they can. It reports whether there is an error
// that differs from the one before.
func (s *controllerState) setDrainErr(err error) (changed bool) {
	before := s.drainErr
	s.drainErr = err
	return err != nil && (before == nil || before.Error() != err.Error())
}

// isCurrent reports whether the problem, or else what is prepared or runs, belongs to the object's current spec and
// not to an earlier one. The caller holds mu.
func (s *controllerState) isCurrent(object controllerObject) bool {
	if s.problem != nil {
		return equalSpecs(s.problemObject, object)
	}
	if s.prepared != nil {
		return equalSpecs(s.prepared.object, object)
	}
	return s.running != nil && equalSpecs(s.running.object, object)
}

// equalSpecs reports whether two objects have the same spec. It compares the generation first, because that is fast,
// and the status writer calls it for each controller four times a second.
func equalSpecs(a, b controllerObject) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	if a.GetGeneration() == b.GetGeneration() && a.GetGeneration() != 0 {
		return true
	}
	return equality.Semantic.DeepEqual(a.GetSpec(), b.GetSpec())
}

// endFollowing ends followSource.
func (s *controllerState) endFollowing() {
	if s.stopFollowing != nil {
		s.stopFollowing()
		s.stopFollowing = nil
	}
}

// endRequirement ends the requirement that checkReads has begun.
func (s *controllerState) endRequirement() {
	s.required.Close()
	s.required = nil
}
