// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateResyncRequest(t *testing.T) {
	operator := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	for name, test := range map[string]struct {
		spec v1alpha1.ResyncRequestSpec
		want []string
	}{
		"one parent":  {spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{Name: "a"}}},
		"all parents": {spec: v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{}}},
		"neither": {want: []string{
			"spec.parent: Required value: or parents says which parents are synced; parents: {} is all of them",
		}},
		"both": {
			spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{Name: "a"}, Parents: &v1alpha1.ResyncParents{}},
			want: []string{"spec: Forbidden: only one of parent and parents may be set"},
		},
		"a parent without a name": {
			spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{}},
			want: []string{"spec.parent.name: Required value: is the name of the parent"},
		},
		"a selector that is none": {
			spec: v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{LabelSelector: operator}},
			want: []string{`spec.parents.labelSelector.matchExpressions[0].operator: Unsupported value: "Like": supported values: "In", "NotIn", "Exists", "DoesNotExist"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range ValidateResyncRequest(&v1alpha1.ResyncRequest{Spec: test.spec}) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
