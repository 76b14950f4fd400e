// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// labelled answers ConfigMaps of these names with the label that parents select.
func labelled(t *testing.T, names ...string) hook.Handler {
	return hook.Answering(t, func(hook.CompositeRequest) object {
		children := []object{}
		for _, name := range names {
			child := hook.ConfigMap(name, object{"value": "1"})
			child["metadata"].(object)["labels"] = object{"app": "a"}
			children = append(children, child)
		}
		return object{"status": object{}, "children": children}
	})
}

// An orphan is adopted, a child that no longer matches is released, and one that the hook drops is deleted.
func TestAdoptedAndReleasedChildrenArePreviewed(t *testing.T) {
	t.Parallel()
	f := prepare(t, labelled(t, "kept", "released", "orphan", "gone"), labelled(t, "kept", "orphan"))
	spec := f.CompositeSpec()
	spec.GenerateSelector = nil
	f.RunComposite(spec)
	f.CreateParent("a", object{"selector": object{"matchLabels": object{"app": "a"}}})
	f.WaitForConfigMap("orphan", harness.Exists)
	f.Settle("a")
	f.pause("a", true)
	f.waitUntilPaused()

	f.PatchConfigMap("released", object{"metadata": object{"labels": object{"app": "b"}}})
	f.PatchConfigMap("orphan", object{"metadata": object{"ownerReferences": nil}})
	from := env.AuditEnd(t)
	want := []string{"delete ConfigMap gone", "patch ConfigMap orphan", "patch ConfigMap released"}
	review := f.of("a")
	review.Candidate = f.candidate()
	f.eventually("with a candidate", want, review)
	status := f.answerLocally(f.of("a"))
	expectSteps(t, status, map[string]v1alpha1.ReviewedOperation{
		"gone": v1alpha1.ReviewedDelete, "orphan": v1alpha1.ReviewedAdopt, "released": v1alpha1.ReviewedRelease,
	})
	review.Until = v1alpha1.SyncReviewUntilDryRun
	f.expectRequests("in a dry run", want, review)
	f.expectNothing(from)
	f.change()
	f.pause("a", false)
	f.WaitUntilConfigMapIsGone("gone")
	f.expectWrites(from, want, "a")
}

// An object that has the name of a child, and is not the parent's, is left alone.
func TestADryRunFindsNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	f := prepare(t, labelled(t), labelled(t, "taken"))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{})
	f.Settle("a")
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "taken"}}
	if _, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	review := f.of("a")
	review.Candidate, review.Until = f.candidate(), v1alpha1.SyncReviewUntilDryRun
	status := f.review(review)
	if status.Summary.Failed != 1 {
		t.Errorf("the summary is %+v", status.Summary)
	}
	for _, step := range status.Syncs[0].Steps {
		if step.Name == "taken" && (step.DryRun == nil || step.DryRun.Outcome != v1alpha1.ReviewedRefused || step.DryRun.Message == "") {
			t.Errorf("the cluster says %+v", step.DryRun)
		}
	}
}

// waitUntilPaused waits until the controller counts a paused parent.
func (f *fixture) waitUntilPaused() {
	f.Helper()
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Paused == 0 {
			return fmt.Errorf("no parent is paused")
		}
		return nil
	})
}

// expectSteps checks the operations of the steps about children of a review of one parent.
func expectSteps(t *testing.T, status *v1alpha1.SyncReviewStatus, want map[string]v1alpha1.ReviewedOperation) {
	t.Helper()
	got := map[string]v1alpha1.ReviewedOperation{}
	for _, step := range status.Syncs[0].Steps {
		got[step.Name] = step.Operation
		if step.Why == "" {
			t.Errorf("%s of %s has no reason", step.Operation, step.Name)
		}
	}
	for name, operation := range want {
		if got[name] != operation {
			t.Errorf("the step of %s is %q, want %s", name, got[name], operation)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the steps are %v, want %v", got, want)
	}
}
