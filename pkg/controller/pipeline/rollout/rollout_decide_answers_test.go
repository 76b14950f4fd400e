// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestAHookThatDropsAChild(t *testing.T) {
	t.Run("in the latest version only: the child goes, and its claim", func(t *testing.T) {
		situation{
			version: "v2", lists: "Pod b", has: "Pod a v1, Pod b v2", remembers: "v1: Pod a; v2: Pod b",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v2"),
			wants:      "Pod b v2",
			remembered: "v2: Pod b",
		}.check(t)
	})
	t.Run("in the older version only: nothing is known of it there, so that it is the latest one's", func(t *testing.T) {
		w := newWorld(t, "v2", "Pod a", "Pod b")
		w.has("Pod a v1", "Pod b v1")
		w.remembers("v1: Pod a, Pod b")
		w.hook = func(parent *object.Object) *pipeline.Response {
			response := w.listed(parent)
			if parent != w.snapshot.Parent {
				response.Children = response.Children[:1]
			}
			return response
		}
		decision := w.decide()
		w.write(decision.Writes)
		if diff := cmp.Diff([]string{"Pod a v1", "Pod b v2"}, wanted(decision.Response)); diff != "" {
			t.Errorf("children differ (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"v1: Pod a", "v2: Pod b"}, w.remembered()); diff != "" {
			t.Errorf("revisions differ (-want +got):\n%s", diff)
		}
		if got, want := decision.Updated.Message, "child Pod b is not updated yet"; got != want {
			t.Errorf("the condition is %q, want %q", got, want)
		}
	})
}

func TestWhatThePlanRefusesIsNoChildOfARollout(t *testing.T) {
	w := newWorld(t, "v1", "Pod a", "Pod other/b", "Zone c", "Pod default/d")
	w.rules.Kinds = []Kind{recreated(pods), recreated(zones)}
	nameless := parse(t, `{apiVersion: v1, kind: Pod, metadata: {generateName: e}, spec: {version: v1}}`)
	otherVersion := parse(t, `{apiVersion: v2, kind: Pod, metadata: {name: f}, spec: {version: v1}}`)
	w.hook = func(parent *object.Object) *pipeline.Response {
		response := w.listed(parent)
		response.Children = append(response.Children, nameless, otherVersion)
		return response
	}
	decision := w.decide()
	w.write(decision.Writes)
	if diff := cmp.Diff([]string{"v1: Pod a, Pod d"}, w.remembered()); diff != "" {
		t.Errorf("revisions differ (-want +got):\n%s", diff)
	}
	if got := len(decision.Response.Children); got != 6 {
		t.Errorf("%d children are left of 6", got)
	}
}

func TestOfAChildThatIsListedTwiceTheLastCountsInThePlaceOfTheFirst(t *testing.T) {
	w := newWorld(t, "v2", "Pod a", "Pod b", "Pod a")
	w.has("Pod a v1", "Pod b v1")
	w.remembers("v1: Pod a, Pod b")
	decision := w.decide()
	if got, want := decision.Updated.Message, "updating Pod a"; got != want {
		t.Errorf("the condition is %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"Pod a v2", "Pod b v1", "Pod a v2"}, wanted(decision.Response)); diff != "" {
		t.Errorf("children differ (-want +got):\n%s", diff)
	}
}

func TestTheWarningsOfAllAnswersAreKept(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.has("Pod a v1")
	w.remembers("v1: Pod a")
	both, earlier := pipeline.Warning{Message: "both"}, pipeline.Warning{Message: "earlier"}
	w.hook = func(parent *object.Object) *pipeline.Response {
		response := w.listed(parent)
		response.Warnings = []pipeline.Warning{both}
		if parent != w.snapshot.Parent {
			response.Warnings = append(response.Warnings, earlier)
		}
		return response
	}
	if diff := cmp.Diff([]pipeline.Warning{both, earlier}, w.decide().Response.Warnings); diff != "" {
		t.Errorf("the warnings differ (-want +got):\n%s", diff)
	}
}

func TestWhatTheAnswersComeTo(t *testing.T) {
	answer := func(seconds int, finalized bool) *pipeline.Response {
		return &pipeline.Response{Status: []byte(fmt.Sprintf(`{"x":%d}`, seconds)), ResyncAfter: time.Duration(seconds) * time.Second, Finalized: finalized, Strict: finalized}
	}
	tests := map[string]struct {
		answers   []*pipeline.Response
		resync    time.Duration
		finalized bool
	}{
		"one answer":                               {[]*pipeline.Response{answer(3, true)}, 3 * time.Second, true},
		"the smallest positive resync counts":      {[]*pipeline.Response{answer(9, true), answer(0, true), answer(4, true), answer(5, true)}, 4 * time.Second, true},
		"the latest needs not ask for one":         {[]*pipeline.Response{answer(0, true), answer(5, true)}, 5 * time.Second, true},
		"nobody asks for one":                      {[]*pipeline.Response{answer(0, true), answer(0, true)}, 0, true},
		"finalized is what all agree in":           {[]*pipeline.Response{answer(1, true), answer(2, false)}, time.Second, false},
		"and not what all but the latest agree in": {[]*pipeline.Response{answer(1, false), answer(2, true)}, time.Second, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			latest := *test.answers[0]
			c := &children{Rollout: &Rollout{snapshot: &pipeline.Snapshot{}, rules: &Rules{}}}
			got := c.compose(test.answers)
			if got.ResyncAfter != test.resync || got.Finalized != test.finalized {
				t.Errorf("resync is after %v, finalized is %v", got.ResyncAfter, got.Finalized)
			}
			if string(got.Status) != string(latest.Status) || got.Strict != latest.Strict {
				t.Errorf("status and strictness are not the latest's")
			}
			if diff := cmp.Diff(&latest, test.answers[0]); diff != "" {
				t.Errorf("the answer itself was changed:\n%s", diff)
			}
		})
	}
}

func TestThereIsAnAnswerAboutEachRevision(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod a")
	_, err := w.open().Decide([]*pipeline.Response{{}}, isUpToDate, noon)
	wantError(t, err, "there are 1 answers for 2 revisions of Web default/shop")
}
