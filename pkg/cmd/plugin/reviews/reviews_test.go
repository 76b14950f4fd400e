// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// pages answers with two parents at a time. Each has a customize and then a sync hook, and its result is the
// response of the latter.
type pages struct {
	parents []string
	sent    []v1alpha1.SyncReviewSpec
}

func (p *pages) Create(_ context.Context, review *v1alpha1.SyncReview, _ metav1.CreateOptions) (*v1alpha1.SyncReview, error) {
	p.sent = append(p.sent, *review.Spec.DeepCopy())
	answered := review.DeepCopy()
	left := p.parents
	if after := review.Spec.Parents.Continue; after != "" {
		left = left[slices.Index(left, after)+1:]
	}
	for _, name := range left[:min(2, len(left))] {
		answered.Status.Syncs = append(answered.Status.Syncs, p.syncOf(&review.Spec, name, &answered.Status.Summary))
	}
	if len(left) > 2 {
		answered.Status.Continue = left[1]
	}
	return answered, nil
}

func (p *pages) syncOf(spec *v1alpha1.SyncReviewSpec, name string, summary *v1alpha1.SyncReviewSummary) v1alpha1.ReviewedSync {
	reviewed := v1alpha1.ReviewedSync{Parent: v1alpha1.ReviewedObject{Kind: "Web", Name: name}, Result: v1alpha1.ReviewedUndecided}
	summary.Parents++
	for _, hook := range []string{"customize", "sync"} {
		call := v1alpha1.ReviewedCall{Hook: hook, Source: v1alpha1.ReviewedSourceMissing, Request: &runtime.RawExtension{Raw: []byte(`"` + name + `"`)}}
		for _, given := range spec.Responses {
			if given.Hook == hook && given.Parent.Name == name {
				call.Source = v1alpha1.ReviewedSourceGiven
			}
		}
		reviewed.Calls = append(reviewed.Calls, call)
		if call.Source == v1alpha1.ReviewedSourceMissing {
			summary.Undecided++
			return reviewed
		}
	}
	reviewed.Result = v1alpha1.ReviewedChanged
	summary.Changed++
	return reviewed
}

func TestAllPagesAreShown(t *testing.T) {
	server := &pages{parents: []string{"a", "b", "c", "d", "e"}}
	var shown []string
	err := Each(t.Context(), server, v1alpha1.SyncReviewSpec{Parents: &v1alpha1.SyncReviewParents{Namespace: "n"}}, nil, func(review *v1alpha1.SyncReview) error {
		for _, one := range review.Status.Syncs {
			shown = append(shown, one.Parent.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(server.parents, shown); diff != "" {
		t.Error(diff)
	}
	for _, sent := range server.sent {
		if sent.Calls == v1alpha1.SyncReviewCallsNone || sent.Parents.Namespace != "n" {
			t.Errorf("sent was %+v", sent)
		}
	}
}

func TestTheHookIsCalledHereUntilNoAnswerIsMissing(t *testing.T) {
	server := &pages{parents: []string{"a", "b", "c"}}
	var mu sync.Mutex
	var calls []string
	call := func(_ context.Context, hook string, request []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, hook+string(request))
		if string(request) == `"b"` && hook == "sync" {
			return nil, errors.New("it fell")
		}
		return fmt.Appendf(nil, `{"to":%s}`, request), nil
	}
	var total v1alpha1.SyncReviewSummary
	var failed []string
	err := Each(t.Context(), server, v1alpha1.SyncReviewSpec{Parents: &v1alpha1.SyncReviewParents{}}, call, func(review *v1alpha1.SyncReview) error {
		Add(&total, review.Status.Summary)
		for _, one := range review.Status.Syncs {
			if one.Error != "" {
				failed = append(failed, one.Parent.Name+": "+one.Error)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(calls)
	if diff := cmp.Diff([]string{`customize"a"`, `customize"b"`, `customize"c"`, `sync"a"`, `sync"b"`, `sync"c"`}, calls); diff != "" {
		t.Errorf("calls: %s", diff)
	}
	if diff := cmp.Diff([]string{"b: sync hook: it fell"}, failed); diff != "" {
		t.Errorf("failed: %s", diff)
	}
	if want := (v1alpha1.SyncReviewSummary{Parents: 3, Changed: 2, Failed: 1}); !cmp.Equal(want, total) {
		t.Errorf("the summary is %+v", total)
	}
	if last := server.sent[len(server.sent)-1]; last.Calls != v1alpha1.SyncReviewCallsNone || len(last.Responses) != 2 {
		t.Errorf("the answers of an earlier page were sent again: %+v", last)
	}
}

// changing asks for another call each time.
type changing struct{ round int }

func (c *changing) Create(_ context.Context, review *v1alpha1.SyncReview, _ metav1.CreateOptions) (*v1alpha1.SyncReview, error) {
	c.round++
	answered := review.DeepCopy()
	answered.Status.Syncs = []v1alpha1.ReviewedSync{{Calls: []v1alpha1.ReviewedCall{{
		Hook: "sync", Revision: fmt.Sprint(c.round), Source: v1alpha1.ReviewedSourceMissing, Request: &runtime.RawExtension{},
	}}}}
	return answered, nil
}

func TestAReviewThatAlwaysAsksForMoreEnds(t *testing.T) {
	call := func(context.Context, string, []byte) ([]byte, error) { return []byte(`{}`), nil }
	err := Each(t.Context(), &changing{}, v1alpha1.SyncReviewSpec{}, call, func(*v1alpha1.SyncReview) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "keeps requesting") {
		t.Errorf("the error is %v", err)
	}
}

func TestARequestThatIsLeftOutIsAFailure(t *testing.T) {
	asked := &asking{failed: map[callKey]error{}}
	review := &v1alpha1.SyncReview{Status: v1alpha1.SyncReviewStatus{
		Summary: v1alpha1.SyncReviewSummary{Parents: 1, Undecided: 1},
		Syncs: []v1alpha1.ReviewedSync{{
			Result: v1alpha1.ReviewedUndecided, Truncated: true, Calls: []v1alpha1.ReviewedCall{{Hook: "sync", Source: v1alpha1.ReviewedSourceMissing}},
		}},
	}}
	if missing := asked.missing(review); len(missing) != 0 {
		t.Errorf("called would be %v", missing)
	}
	asked.markFailed(review)
	if sync := review.Status.Syncs[0]; sync.Result != v1alpha1.ReviewedFailed || !strings.Contains(sync.Error, "it is too large") {
		t.Errorf("the sync is %+v", sync)
	}
}

// forgetful refuses the first answer that it is given.
type forgetful struct{ refusals int }

func (f *forgetful) Create(_ context.Context, review *v1alpha1.SyncReview, _ metav1.CreateOptions) (*v1alpha1.SyncReview, error) {
	answered := review.DeepCopy()
	call := v1alpha1.ReviewedCall{Hook: "sync", Source: v1alpha1.ReviewedSourceMissing, Request: &runtime.RawExtension{}}
	if len(review.Spec.Responses) > 0 {
		call.Source = v1alpha1.ReviewedSourceGiven
		if f.refusals > 0 {
			f.refusals--
			call.Error = "it is the answer to another request"
		}
	}
	answered.Status.Syncs = []v1alpha1.ReviewedSync{{Error: call.Error, Calls: []v1alpha1.ReviewedCall{call}}}
	return answered, nil
}

// Another replica of the server has other digests in the place of Secrets.
func TestACallIsMadeOnceMoreIfItsAnswerIsRefused(t *testing.T) {
	for refusals, want := range map[int]struct {
		calls int
		error string
	}{0: {1, ""}, 1: {2, ""}, 2: {2, "it is the answer to another request"}} {
		calls := 0
		call := func(context.Context, string, []byte) ([]byte, error) { calls++; return []byte(`{}`), nil }
		err := Each(t.Context(), &forgetful{refusals}, v1alpha1.SyncReviewSpec{}, call, func(review *v1alpha1.SyncReview) error {
			if got := review.Status.Syncs[0].Error; got != want.error {
				t.Errorf("%d refusals: the error is %q", refusals, got)
			}
			return nil
		})
		if err != nil || calls != want.calls {
			t.Errorf("%d refusals: %d calls and %v", refusals, calls, err)
		}
	}
}
