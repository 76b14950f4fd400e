// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// What was planned and left nothing to write is not planned again, as long as the hook answers the
// same about the same.
func TestAnAnswerIsPlannedOnce(t *testing.T) {
	const stray = `,"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"stray"}}]`
	type turn struct {
		answer  string
		planned bool
		resync  time.Duration
		err     string
	}
	tests := map[string][]turn{
		"the same again": {
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")}, {answer: answerOfTen("")},
		},
		"the same, which asks to be asked again": {
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), planned: true, resync: 7 * time.Second},
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), resync: 7 * time.Second},
		},
		"another": {
			{answer: answerOfTen(""), planned: true},
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), planned: true, resync: 7 * time.Second},
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")},
		},
		"one with a child that cannot be had": {
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
		},
		"the first again, after one with a child that cannot be had": {
			{answer: answerOfTen(""), planned: true},
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")},
		},
		"one that cannot be read, and the last one again": {
			{answer: answerOfTen(""), planned: true},
			{answer: "[]", err: "must be a JSON object"},
			{answer: answerOfTen("")},
		},
	}
	for name, turns := range tests {
		t.Run(name, func(t *testing.T) {
			var answer atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, answer.Load().(string))
			}))
			t.Cleanup(server.Close)
			c, plans := controllerOfTen(t, server.URL), 0
			c.reporter.Events, _ = eventsOf(t)
			c.spec.Kind.Plan = func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies, upToDate *plan.UpToDateCache) (*pipeline.Plan, error) {
				plans++
				return plan.Composite(snapshot, response, strategies, upToDate)
			}
			for i, turn := range turns {
				answer.Store(turn.answer)
				plans = 0
				result := c.syncParent(t.Context(), web("a"), c.parents.get(web("a")), syncqueue.ParentChanged)
				if planned := plans == 1; planned != turn.planned || result.resyncAfter != turn.resync {
					t.Errorf("sync %d: planned is %v and the next sync is due after %v, want %v and %v", i, planned, result.resyncAfter, turn.planned, turn.resync)
				}
				if turn.err == "" && result.err != nil || turn.err != "" && (result.err == nil || !strings.Contains(result.err.Error(), turn.err)) {
					t.Errorf("sync %d: the error is %v, want %q", i, result.err, turn.err)
				}
			}
		})
	}
}

// A write of the finalizer makes the next sync plan again: the guard against write loops learns from
// the plan what needs no write any more.
func TestAnAnswerIsPlannedAgainOnceTheFinalizerWasInTheWay(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	state := c.parents.get(web("a"))
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil || !state.planning.NoOp.Known {
		t.Fatalf("nothing is left to do, but an answer is known: %v, error: %v", state.planning.NoOp.Known, result.err)
	}
	c.planner.Observer.Finalizes = true
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); !apierrors.IsForbidden(result.err) || state.planning.NoOp.Known {
		t.Errorf("the finalizer is missing, but an answer is known: %v, error: %v", state.planning.NoOp.Known, result.err)
	}
}
