// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
)

// Every Op that forms write loops is slowed down when its step is wanted again and again. No other
// is.
func TestEveryOpIsSlowedDownThatFormsWriteLoops(t *testing.T) {
	version := func(n int) *object.Object {
		return &object.Object{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: fmt.Sprint(n)}}
	}
	for _, op := range pipeline.Ops() {
		t.Run(string(op), func(t *testing.T) {
			guard, now := writeloop.New(), time.Unix(1_800_000_000, 0)
			snapshot := &pipeline.Snapshot{Parent: version(0)}
			postponed := false
			for i := range 20 {
				step := pipeline.Step{Op: op, Name: "a", Desired: 1, Observed: version(i)}
				if op.CreatesMissing() {
					step.Observed = nil
				}
				plan := &pipeline.Plan{Steps: []pipeline.Step{step}}
				next, _ := guard.Postpone(snapshot, plan, now)
				until, _ := guard.PostponeStep(snapshot, &step, now)
				postponed = postponed || !next.IsZero() || until.After(now)
				outcome := pipeline.Outcome{Step: step}
				if !op.Deletes() {
					outcome.Result = version(i + 1)
				}
				guard.Wrote(snapshot, []pipeline.Outcome{outcome}, now)
				now = now.Add(time.Millisecond)
			}
			if postponed != op.FormsWriteLoops() {
				t.Errorf("that it is slowed down is %v", postponed)
			}
			if op.OnParent() {
				if loops := guard.Loops(now); len(loops) != 1 || !loops[0].OfParent {
					t.Errorf("its loops are %+v, want one of the parent", loops)
				}
			}
		})
	}
}
