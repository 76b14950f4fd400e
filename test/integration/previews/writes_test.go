// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// before is the hook of a composite before its change: of its three children one stays, one changes and one goes.
func before(t *testing.T) hook.Handler {
	return hook.Answering(t, func(asked hook.CompositeRequest) object {
		name := asked.Parent.GetName()
		return object{"status": object{"version": 1}, "children": []object{
			hook.ConfigMap(name+"-stays", object{"a": "1"}), hook.ConfigMap(name+"-changes", object{"a": "1", "b": "1"}), hook.ConfigMap(name+"-goes", object{}),
		}}
	})
}

// after is the hook after its change.
func after(t *testing.T) hook.Handler {
	return hook.Answering(t, func(asked hook.CompositeRequest) object {
		name := asked.Parent.GetName()
		return object{"status": object{"version": 2}, "children": []object{
			hook.ConfigMap(name+"-stays", object{"a": "1"}), hook.ConfigMap(name+"-changes", object{"a": "2"}), hook.ConfigMap(name+"-comes", object{"a": "1"}),
		}}
	})
}

// A change of a hook is previewed against live parents in every way. Nothing is written meanwhile, and
// what was previewed is written afterwards.
func TestTheWritesOfACompositeAreThePreviewedOnes(t *testing.T) {
	const changes, comes = "ConfigMap a-changes", "ConfigMap a-comes"
	for _, test := range []struct {
		engine v1alpha1.ChildApplyStrategy
		method v1alpha1.ChildUpdateMethod
		writes []string
		// later is what a later sync writes.
		later []string
	}{
		{v1alpha1.ChildApplyDynamic, v1alpha1.ChildUpdateInPlace, []string{"create " + comes, "update " + changes}, nil},
		{v1alpha1.ChildApplyServerSide, v1alpha1.ChildUpdateInPlace, []string{"patch " + comes, "patch " + changes}, nil},
		{v1alpha1.ChildApplyDynamic, v1alpha1.ChildUpdateRecreate, []string{"create " + comes, "delete " + changes}, []string{"create " + changes}},
	} {
		t.Run(fmt.Sprint(test.engine, " ", test.method), func(t *testing.T) {
			t.Parallel()
			f := prepare(t, before(t), after(t))
			f.RunComposite(f.CompositeSpec(applied(test.engine, test.method)))
			f.CreateParent("a", object{})
			f.WaitForConfigMap("a-goes", harness.Exists)
			f.Settle("a")

			from := env.AuditEnd(t)
			want := append(slices.Clone(test.writes), "delete ConfigMap a-goes", "update status Thing a")
			slices.Sort(want)
			f.expectPreviews(want, "a")
			f.expectNothing(from, "a")

			want = append(want, test.later...)
			slices.Sort(want)
			f.change()
			f.Touch("a", "changed")
			f.expectWrites(from, want, "a")
			if status := f.review(f.of("a")); status.Summary.Unchanged != 1 {
				t.Errorf("after the change, the review says %+v: %+v", status.Summary, status.Syncs)
			}
		})
	}
}

// expectPreviews checks the requests that a review of a parent announces: with a candidate, with answers
// that are given, and up to a dry run.
func (f *fixture) expectPreviews(want []string, parent string) {
	f.Helper()
	withCandidate, dryRun := f.of(parent), f.of(parent)
	withCandidate.Candidate = f.candidate()
	dryRun.Candidate, dryRun.Until = withCandidate.Candidate, v1alpha1.SyncReviewUntilDryRun
	for way, status := range map[string]*v1alpha1.SyncReviewStatus{
		"with a candidate": f.review(withCandidate), "with given answers": f.answerLocally(f.of(parent)), "in a dry run": f.review(dryRun),
	} {
		if diff := cmp.Diff(want, requests(f.T, status)); diff != "" {
			f.Errorf("%s, announced are (-want +got):\n%s", way, diff)
		}
		for _, sync := range status.Syncs {
			for _, step := range sync.Steps {
				if step.DryRun != nil && step.DryRun.Outcome != v1alpha1.ReviewedAccepted {
					f.Errorf("%s, the cluster says to %s of %s: %+v", way, step.Operation, step.Name, step.DryRun)
				}
			}
		}
	}
	unchanged := f.review(f.of(parent))
	if lines := requests(f.T, unchanged); len(lines) > 0 || unchanged.Summary.Unchanged != 1 {
		f.Errorf("without a change, announced are %q: %+v", lines, unchanged.Summary)
	}
	if unchanged.Controller != v1alpha1.ReviewedByRunning {
		f.Errorf("the running controller was reviewed by a %s one", unchanged.Controller)
	}
}
