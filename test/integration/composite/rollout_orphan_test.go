// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The host's garbage collector orphans the revision of a parent with its children, as kubectl delete
// --cascade=orphan asks. The parent may not adopt it again, and is finalized all the same.
func TestAParentWhoseRevisionIsOrphanedIsFinalized(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.answer(func(asked request) object {
		response := object{"status": object{}, "children": r.desired(asked)}
		if asked.Finalizing { // it takes longer than the garbage collector
			response["finalized"] = !slices.Contains(asked.Parent.GetFinalizers(), metav1.FinalizerOrphanDependents)
		}
		return response
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, withFinalize))
	r.startAll(2)
	// The garbage collector orphans only what it has seen. Once it has collected the part and the revision of
	// a parent that came later, it has seen those of this one.
	r.CreateParent("later", object{"replicas": int64(1), "version": "1"})
	r.waitForVersions("1", "1", "1")
	r.waitForRevisions(2)
	r.DeleteParent("later", metav1.DeletePropagationBackground)
	r.waitForCollection("a")

	r.DeleteParent("a", metav1.DeletePropagationOrphan)
	env.Within(t, collectionTime, r.ParentIsGone("a"))

	parts, err := r.listParts(t.Context())
	if err != nil || len(parts) != 2 {
		t.Fatalf("the parts are %v, %v, want both to stay", parts, err)
	}
	for _, part := range parts {
		if owner := metav1.GetControllerOf(&part); owner != nil || part.GetDeletionTimestamp() != nil {
			t.Errorf("part %s is owned by %v and deleted at %v", part.GetName(), owner, part.GetDeletionTimestamp())
		}
	}
	left, err := r.revisions(t.Context())
	if err != nil || len(left) != 1 || metav1.GetControllerOf(&left[0]) != nil || left[0].DeletionTimestamp != nil {
		t.Errorf("the revisions are %s, %v, want one orphan", fmt.Sprint(left), err)
	}
}
