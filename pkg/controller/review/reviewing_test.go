// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

func underReview() *reviewing {
	return &reviewing{Reviews: New(&rest.Config{}, &cluster{}), spec: &v1alpha1.SyncReviewSpec{}}
}

// large is the preview of a parent with an answer of some MiB and some refused children of a MiB.
func large(name string, answer, refused int) *preview.Preview {
	preview := &preview.Preview{
		Parent: &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}},
		Calls: []hook.Call{{
			Hook: hook.Sync, Snapshot: &pipeline.Snapshot{}, Request: []byte(`{}`), Answer: fmt.Appendf(nil, `{"status":{"text":%q}}`, strings.Repeat("x", answer<<20)),
		}},
		Planned: true,
	}
	for range refused {
		preview.Refused = append(preview.Refused, fmt.Errorf("no: %s", strings.Repeat("y", 1<<20)))
	}
	return preview
}

func TestAnAnswerIsBoundedInSize(t *testing.T) {
	r := underReview()
	for i, test := range []struct {
		preview         *preview.Preview
		done, truncated bool
	}{
		{preview: large("a", 3, 0), done: true},
		{preview: large("b", 2, 0), done: true},
		{preview: large("c", 2, 0)},
	} {
		done, err := r.add(r.newSync(nil), test.preview, true)
		if done != test.done || err != nil {
			t.Errorf("parent %d: done is %v, error is %v", i, done, err)
		}
	}
	if len(r.status.Syncs) != 2 || r.status.Summary.Parents != 2 || len(r.status.Notes) != 1 ||
		r.status.Notes[0] != "the answer would be larger than 6 MiB; to review the other parents, set spec.parents.continue to status.continue" {
		t.Errorf("there are %d syncs, summary is %+v, notes are %q", len(r.status.Syncs), r.status.Summary, r.status.Notes)
	}
}

func TestALargeSyncIsTruncated(t *testing.T) {
	for name, test := range map[string]struct {
		preview *preview.Preview
		refused int
	}{
		"requests and answers are left out":         {large("a", 7, 1), 1},
		"if that is not enough, the steps are, too": {large("a", 7, 8), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := underReview()
			if done, err := r.add(r.newSync(nil), test.preview, true); !done || err != nil {
				t.Fatalf("done is %v, error is %v", done, err)
			}
			sync := r.status.Syncs[0]
			if !sync.Truncated || sync.Calls[0].Request != nil || sync.Calls[0].Response != nil || len(sync.Refused) != test.refused {
				t.Errorf("the sync is truncated: %v, has a response: %v, and %d refused children, want %d", sync.Truncated, sync.Calls[0].Response != nil, len(sync.Refused), test.refused)
			}
			if len(r.status.Notes) != 1 || !strings.Contains(r.status.Notes[0], "the sync of Web a takes more than 6 MiB") {
				t.Errorf("notes are %q", r.status.Notes)
			}
		})
	}
}

// The running controllers have the processor to themselves most of the time.
func TestAReviewOfSeveralParentsIsSlow(t *testing.T) {
	for name, test := range map[string]struct{ took, want time.Duration }{
		"nine times as long as a parent took": {time.Millisecond, 9 * time.Millisecond},
		"not for long after a slow hook":      {time.Second, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				pause(t.Context(), test.took)
				if got := time.Since(began); got != test.want {
					t.Errorf("the pause takes %s, want %s", got, test.want)
				}
				ended, end := context.WithCancel(t.Context())
				end()
				began = time.Now()
				if pause(ended, test.took); time.Since(began) != 0 {
					t.Error("a review that has ended pauses")
				}
			})
		})
	}
}
