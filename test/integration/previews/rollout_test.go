// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// versionedChildren answers three ConfigMaps with the version of the parent, and with a mark of the hook.
func versionedChildren(t *testing.T, mark string) hook.Handler {
	return hook.Answering(t, func(asked hook.CompositeRequest) object {
		version, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "version")
		var children []object
		for i := range 3 {
			children = append(children, hook.ConfigMap(fmt.Sprintf("%s-%d", asked.Parent.GetName(), i), object{"version": version, "mark": mark}))
		}
		return object{"status": object{}, "children": children}
	})
}

// During a rolling update, a preview shows which child would move now, which ones would stay, and what
// is written of ControllerRevisions.
func TestRollingUpdatesArePreviewed(t *testing.T) {
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			f := prepare(t, versionedChildren(t, "1"), versionedChildren(t, "1"))
			spec := f.CompositeSpec(applied(engine, v1alpha1.ChildUpdateRollingInPlace))
			spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"spec.version"}}
			// No ConfigMap passes this check, so that a rollout waits for the first child.
			spec.ChildResources[0].UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
				Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready"}},
			}
			f.RunComposite(spec)
			f.CreateParent("a", object{"version": "1"})
			f.WaitForConfigMap("a-2", harness.HasData("version", "1"))
			f.Settle("a")
			f.waitForRevisions(1)

			changed := f.WaitForParent("a", func(*unstructured.Unstructured) error { return nil })
			if err := unstructured.SetNestedField(changed.Object, "2", "spec", "version"); err != nil {
				t.Fatal(err)
			}
			review := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Object: raw(t, changed.Object)}
			from := env.AuditEnd(t)
			update := "update ConfigMap "
			if engine == v1alpha1.ChildApplyServerSide {
				update = "patch ConfigMap "
			}
			want := []string{update + "a-0", "update status Thing a"}
			f.expectRequests("before the parent changes", want, review)
			review.Until = v1alpha1.SyncReviewUntilDryRun
			f.expectRequests("before the parent changes, in a dry run", want, review)
			status := f.answerLocally(v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Object: raw(t, changed.Object)})
			sync := status.Syncs[0]
			if sync.Rollout == nil || sync.Rollout.Reason != "RolloutProgressing" {
				t.Fatalf("the rollout is %+v", sync.Rollout)
			}
			if diff := cmp.Diff([]string{"a-0"}, names(sync.Rollout.Moves)); diff != "" {
				t.Errorf("children that move (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"a-1", "a-2"}, names(sync.Rollout.Behind)); diff != "" {
				t.Errorf("children that stay (-want +got):\n%s", diff)
			}
			if len(sync.Calls) != 2 || sync.Calls[0].Revision != "" || sync.Calls[1].Revision == "" {
				t.Errorf("the calls are %+v", sync.Calls)
			}
			created, updated := revisionSteps(sync.Steps, v1alpha1.ReviewedCreate), revisionSteps(sync.Steps, v1alpha1.ReviewedUpdate)
			if len(created) != 1 || len(updated) != 1 {
				t.Errorf("created are the revisions %q, updated %q", created, updated)
			}
			f.expectNothing(from, "a")

			f.PatchParent("a", object{"spec": object{"version": "2"}})
			f.WaitForConfigMap("a-0", harness.HasData("version", "2"))
			// The next sync writes that it waits for the child.
			f.expectWrites(from, append(slices.Clone(want), "update status Thing a"), "a")
			if stored := f.waitForRevisions(2); !slices.Contains(stored, created[0]) || !slices.Contains(stored, updated[0]) {
				t.Errorf("stored are %q, announced were %q and %q", stored, created, updated)
			}
			waiting := f.review(f.of("a")).Syncs[0]
			if waiting.Result != v1alpha1.ReviewedUnchanged || waiting.Rollout.Reason != "RolloutWaiting" || len(waiting.Rollout.Moves) > 0 {
				t.Errorf("while it waits, the review says %s and %+v", waiting.Result, waiting.Rollout)
			}
		})
	}
}

func names(objects []v1alpha1.ReviewedObject) (names []string) {
	for _, one := range objects {
		names = append(names, one.Name)
	}
	return names
}

func revisionSteps(steps []v1alpha1.ReviewedStep, operation v1alpha1.ReviewedOperation) (names []string) {
	for _, step := range steps {
		if step.Kind == "ControllerRevision" && step.Operation == operation {
			names = append(names, step.Name)
		}
	}
	return names
}

// waitForRevisions waits until there are so many ControllerRevisions, and returns their names.
func (f *fixture) waitForRevisions(count int) (stored []string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		list, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(f.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if stored = nil; len(list.Items) != count {
			return fmt.Errorf("there are %d ControllerRevisions, want %d", len(list.Items), count)
		}
		for _, revision := range list.Items {
			stored = append(stored, revision.Name)
		}
		return nil
	})
	return stored
}
