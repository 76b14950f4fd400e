// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// RolloutStarted tells that a change of a parent begins to be rolled out; first is what is
// done first.
func (e *Events) RolloutStarted(parent *object.Object, first string) {
	e.recorder.Event(parent, corev1.EventTypeNormal, reasonRollout, cut("A change is rolled out: "+first))
}

// RolloutWaiting tells that a rollout has waited for the same for a while.
func (e *Events) RolloutWaiting(parent *object.Object, why string) {
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonWaiting, cut("The rollout waits: "+why))
}

// RolloutFinished tells that all children are at the latest revision.
func (e *Events) RolloutFinished(parent *object.Object, latest string) {
	e.recorder.Event(parent, corev1.EventTypeNormal, reasonFinished, cut("The rollout is finished: "+latest))
}
