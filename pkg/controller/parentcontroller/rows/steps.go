// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"container/list"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

const (
	// maxSteps bounds the steps that are kept of all parents of a controller.
	maxSteps = 500
	// maxStepsOfSync bounds the steps that are kept of one sync.
	maxStepsOfSync = 20
)

// StepLog has the steps of the last sync that did something, of each of the parents that were written last. The zero
// value is empty. Its methods may be called concurrently.
type StepLog struct {
	mu sync.Mutex
	// kept has a loggedSteps for each parent, the last written one in front.
	kept     list.List
	byParent map[object.Key]*list.Element
	// number is the total number of logged steps.
	number int
}

type loggedSteps struct {
	parent object.Key
	steps  *v1alpha1.SyncSteps
}

// add replaces the steps of an earlier sync by the steps of a new one. A sync without steps leaves these.
func (l *StepLog) add(parent object.Key, outcomes []pipeline.Outcome, ended time.Time) {
	if len(outcomes) == 0 {
		return
	}
	steps := describeSteps(outcomes, ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byParent == nil {
		l.byParent = map[object.Key]*list.Element{}
	}
	l.remove(l.byParent[parent])
	l.byParent[parent] = l.kept.PushFront(loggedSteps{parent, steps})
	for l.number += len(steps.Steps); l.number > maxSteps; {
		l.remove(l.kept.Back())
	}
}

// of returns the steps of a parent's last sync that did something; nil if they are not known. Callers must not change
// them.
func (l *StepLog) of(parent object.Key) *v1alpha1.SyncSteps {
	l.mu.Lock()
	defer l.mu.Unlock()
	if element := l.byParent[parent]; element != nil {
		return element.Value.(loggedSteps).steps
	}
	return nil
}

// Forget drops a parent that is gone.
func (l *StepLog) Forget(parent object.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(l.byParent[parent])
}

func (l *StepLog) remove(element *list.Element) {
	if element == nil {
		return
	}
	removed := l.kept.Remove(element).(loggedSteps)
	delete(l.byParent, removed.parent)
	l.number -= len(removed.steps.Steps)
}

// describeSteps returns the outcomes of a sync as they are shown.
func describeSteps(outcomes []pipeline.Outcome, ended time.Time) *v1alpha1.SyncSteps {
	shown := outcomes[:min(len(outcomes), maxStepsOfSync)]
	steps := &v1alpha1.SyncSteps{
		Time: metav1.NewMicroTime(ended), Omitted: int32(len(outcomes) - len(shown)),
		Steps: make([]v1alpha1.SyncStep, len(shown)),
	}
	for i := range shown {
		outcome := &shown[i]
		step := v1alpha1.SyncStep{
			Operation: string(outcome.Op), APIVersion: outcome.Type.GroupVersion().String(), Kind: outcome.Type.Kind,
			Namespace: outcome.Namespace, Name: outcome.Name, Why: outcome.Why, Result: resultOf(outcome),
		}
		if outcome.Err != nil {
			step.Error = text.Shorten(report.Summary(outcome.Err), report.MaxMessage)
		}
		steps.Steps[i] = step
	}
	return steps
}

func resultOf(outcome *pipeline.Outcome) v1alpha1.SyncStepResult {
	switch {
	case outcome.Err != nil:
		return v1alpha1.SyncStepFailed
	case outcome.NameConflict:
		return v1alpha1.SyncStepNameConflict
	case outcome.Conflict:
		return v1alpha1.SyncStepConflict
	case changed(outcome):
		return v1alpha1.SyncStepWritten
	}
	return v1alpha1.SyncStepUnchanged
}
