// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
)

// Whoever creates a controller and changes it right away is not in conflict with the
// status that tells about it.
func TestTheStatusOfANewSpecIsWrittenAfterAMoment(t *testing.T) {
	start := time.Now()
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	hosted := &hostedController{name: "webs"}
	refused := &report.Problem{Reason: report.ReasonInvalidSpec, Err: errors.New("no hooks defined")}
	expect := func(after time.Duration, want bool) {
		t.Helper()
		if _, due := hosted.status(object, start.Add(after)); due != want {
			t.Errorf("after %s, the status is written: %v, want %v", after, due, want)
		}
	}
	hosted.setProblem(object, refused)
	expect(0, false)
	expect(newFor-1, false)
	expect(newFor, true)

	object = object.DeepCopy()
	object.Generation, object.Spec.ResyncPeriodSeconds = 2, ptr.To(int32(1))
	expect(time.Second, false) // nobody has looked at it
	hosted.setProblem(object, refused)
	expect(time.Second+newFor-1, false)
	expect(time.Second+newFor, true)

	object = object.DeepCopy()
	object.UID, object.Generation = "another", 2
	hosted.setProblem(object, refused)
	expect(2*time.Second, false)
	expect(2*time.Second+newFor, true)
}
