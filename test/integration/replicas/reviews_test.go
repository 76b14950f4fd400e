// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// The replica that serves the API answers reviews of all controllers, whoever runs them.
func TestEveryReplicaAnswersReviews(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 4, 3)
	f.waitForEven(f.replicas...)
	by := map[v1alpha1.ReviewedBy]int{}
	for _, fixture := range f.fixtures {
		by[f.expectReviews(t, fixture, 3)]++
	}
	if by[v1alpha1.ReviewedByRunning] != 2 || by[v1alpha1.ReviewedByTemporary] != 2 {
		t.Errorf("reviews were answered by %v, want two of each", by)
	}
	f.edit("1")
	f.waitForEdit("1")
	f.checkWriters()
}

// So it does of a controller of which it runs only some parts.
func TestAReplicaAnswersReviewsOfAllParts(t *testing.T) {
	f := newFleet(t, 2)
	fixture := f.runSharded(t)
	f.waitForShards(shards, shardedParents, f.replicas...)
	f.expectReviews(t, fixture, shardedParents)
}

// expectReviews checks reviews of all parents of a controller, and of a change of one, and returns what
// has answered the first.
func (f *fleet) expectReviews(t *testing.T, fixture *harness.Fixture, parents int32) v1alpha1.ReviewedBy {
	t.Helper()
	review := v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: fixture.Controller.Name},
		Parents:    &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](100)},
	}
	quiet := f.review(t, review)
	if quiet.Summary.Unchanged != parents || len(quiet.Syncs) != int(parents) {
		t.Errorf("the review says %+v: %+v", quiet.Summary, quiet.Syncs)
	}
	review.Parents = nil
	review.Parent = &v1alpha1.SyncReviewParent{Namespace: fixture.Namespace, Name: parentName(0)}
	review.Response = &runtime.RawExtension{Raw: []byte(`{"children": []}`)}
	changed := f.review(t, review)
	if steps := changed.Summary.Steps; len(steps) != 2 || steps[0].Operation != v1alpha1.ReviewedDelete || steps[0].Count != 1 {
		t.Errorf("with another answer, the review says %+v", changed.Summary)
	}
	return quiet.Controller
}

func (f *fleet) review(t *testing.T, spec v1alpha1.SyncReviewSpec) *v1alpha1.SyncReviewStatus {
	t.Helper()
	review, err := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews().Create(t.Context(), &v1alpha1.SyncReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(fmt.Errorf("review of %s: %w", spec.Controller.Name, err))
	}
	return &review.Status
}
