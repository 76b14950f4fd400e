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
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil || !state.noOp.known {
		t.Fatalf("nothing is left to do, but an answer is known: %v, error: %v", state.noOp.known, result.err)
	}
	c.observer.Finalizes = true
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); !apierrors.IsForbidden(result.err) || state.noOp.known {
		t.Errorf("the finalizer is missing, but an answer is known: %v, error: %v", state.noOp.known, result.err)
	}
}

// Only a plan that leaves nothing to do is remembered.
func TestAPlanThatIsMadeAgain(t *testing.T) {
	tests := map[string]struct {
		planned  pipeline.Plan
		outcomes []pipeline.Outcome
		after    time.Duration
	}{
		"it wrote":            {outcomes: []pipeline.Outcome{{}}},
		"it will write later": {after: time.Second},
		"a child was refused": {planned: pipeline.Plan{Refused: []error{io.EOF}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r knownNoOp
			r.remember(1, &pipeline.Response{Hash: 2}, &pipeline.Plan{}, nil, 0)
			if known := r.matching(1); known == nil || known.Answer != 2 {
				t.Fatalf("of a plan that left nothing to do %v is known", known)
			}
			if known := r.matching(3); known != nil {
				t.Errorf("what the plan depends on has changed, but %v is known", known)
			}
			r = knownNoOp{}
			r.remember(1, &pipeline.Response{Hash: 2}, &test.planned, test.outcomes, test.after)
			if known := r.matching(1); known != nil {
				t.Errorf("%v is known", known)
			}
		})
	}
}
