// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

func TestCallsAboutEarlierVersionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, all atomic.Int64
		call := func(*hook.Webhook, context.Context, *pipeline.Snapshot) (*pipeline.Response, error) {
			for now := running.Add(1); now > most.Load(); {
				most.Store(now)
			}
			time.Sleep(time.Minute)
			running.Add(-1)
			all.Add(1)
			return &pipeline.Response{}, nil
		}
		called := func(string, *pipeline.Snapshot, *pipeline.Response, error) {}
		p := &Planner{Called: called, Stages: &Stages{CallHook: call}}
		snapshot := snapshotOf("present")
		versions := []*rollout.Revision{{Parent: snapshot.Parent}}
		for range 30 {
			versions = append(versions, &rollout.Revision{Parent: snapshot.Parent, Name: "earlier"})
		}
		_, err := p.callHookPerRevision(t.Context(), &State{}, snapshot, versions, &hook.Webhook{})
		if err != nil || all.Load() != 31 || most.Load() > parallelEarlier+1 {
			t.Errorf("%d calls were made, up to %d at once; the error is %v", all.Load(), most.Load(), err)
		}
	})
}

// The calls share the state of the parent with the next sync, so none may outlive its sync.
func TestAPanicInOneCallAboutARevisionWaitsForTheOthers(t *testing.T) {
	for panics, want := range map[string]string{
		"present": "panic: boom",
		"earlier": "about the parent as of ControllerRevision r1: panic: boom",
	} {
		t.Run("the call about the "+panics+" version", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int64
				p := &Planner{Called: func(string, *pipeline.Snapshot, *pipeline.Response, error) {}, Stages: &Stages{CallHook: func(_ *hook.Webhook, _ context.Context, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
					if snapshot.Parent.Name == panics {
						panic("boom")
					}
					time.Sleep(time.Minute)
					ended.Add(1)
					return &pipeline.Response{}, nil
				}}}
				snapshot := snapshotOf("present")
				versions := []*rollout.Revision{
					{Parent: snapshot.Parent}, {Parent: snapshotOf("earlier").Parent, Name: "r1"}, {Parent: snapshotOf("oldest").Parent, Name: "r2"},
				}
				_, err := p.callHookPerRevision(t.Context(), &State{}, snapshot, versions, &hook.Webhook{})
				if ended.Load() != 2 || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%d calls have ended, want 2; the error is %v, want %s", ended.Load(), err, want)
				}
			})
		})
	}
}
