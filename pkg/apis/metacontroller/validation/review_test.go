// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const syncReview = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: SyncReview
spec:
  controller: {kind: CompositeController, name: webs}
  parent: {namespace: shop, name: web}
`

func TestValidateSyncReview(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"the fewest fields": {patch: "{}"},
		"all fields for one parent": {
			patch: `
spec:
  candidate: {}
  parent: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
  response: {status: {}}
  responses: [{hook: customize, parent: {name: web}, response: {}}, {hook: sync, revision: r-1, response: {}}, {hook: finalize, response: {}}]
  request: {}
  calls: None
  until: DryRun
  details: Steps
  timeoutSeconds: 30
`,
		},
		"parents":                  {patch: "spec: {parent: null, parents: {namespace: shop, labelSelector: {matchLabels: {app: web}}, limit: 100, continue: x}}"},
		"no parents in particular": {patch: "spec: {parent: null, parents: {}}"},
		"an object":                {patch: "spec: {parent: null, object: {kind: Web}}"},
		"no controller": {
			patch: "spec: {controller: null}",
			want: []string{
				`spec.controller.kind: Required value: must be CompositeController or DecoratorController`,
				`spec.controller.name: Required value: must be the name of the controller`,
			},
		},
		"a controller of a kind that there is not": {
			patch: "spec: {controller: {kind: Deployment, name: webs}}",
			want:  []string{`spec.controller.kind: Unsupported value: "Deployment": supported values: "CompositeController", "DecoratorController"`},
		},
		"nothing says which syncs": {
			patch: "spec: {parent: null}",
			want:  []string{`spec.parent: Required value: set parent, parents or object`},
		},
		"two things say which syncs": {
			patch: "spec: {parents: {}}",
			want:  []string{`spec: Forbidden: only one of parent, parents and object may be set`},
		},
		"a parent without a name": {
			patch: "spec: {parent: {name: ''}, responses: [{hook: sync, parent: {namespace: shop}, response: {}}]}",
			want: []string{
				`spec.parent.name: Required value: must be the name of the parent`,
				`spec.responses[0].parent.name: Required value: must be the name of the parent`,
			},
		},
		"parents that cannot be selected": {
			patch: "spec: {parent: null, parents: {labelSelector: {matchExpressions: [{key: app, operator: Is}]}, limit: 101}}",
			want: []string{
				`spec.parents.labelSelector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist"`,
				`spec.parents.limit: Invalid value: 101: must be from 1 to 100`,
			},
		},
		"no parents at all": {
			patch: "spec: {parent: null, parents: {limit: 0}}",
			want:  []string{`spec.parents.limit: Invalid value: 0: must be from 1 to 100`},
		},
		"content that is no object": {
			patch: "spec: {candidate: [], response: text, request: 1, responses: [{hook: sync, response: true}]}",
			want: []string{
				`spec.candidate: Invalid value: must be a JSON object`,
				`spec.response: Invalid value: must be a JSON object`,
				`spec.request: Invalid value: must be a JSON object`,
				`spec.responses[0].response: Invalid value: must be a JSON object`,
			},
		},
		"an object that is none": {
			patch: "spec: {parent: null, object: []}",
			want:  []string{`spec.object: Invalid value: must be a JSON object`},
		},
		"answers of hooks that there are not": {
			patch: "spec: {responses: [{response: {}}, {hook: preupdate, response: {}}]}",
			want: []string{
				`spec.responses[0].hook: Required value: must be sync, finalize or customize`,
				`spec.responses[1].hook: Unsupported value: "preupdate": supported values: "sync", "finalize", "customize"`,
			},
		},
		"a request for many parents": {
			patch: "spec: {parent: null, parents: {}, request: {}}",
			want:  []string{`spec.request: Forbidden: is about one parent, so it cannot be combined with parents`},
		},
		"words that there are not": {
			patch: "spec: {calls: Some, until: End, details: Few}",
			want: []string{
				`spec.calls: Unsupported value: "Some": supported values: "All", "None"`,
				`spec.until: Unsupported value: "End": supported values: "Request", "Response", "Plan", "DryRun"`,
				`spec.details: Unsupported value: "Few": supported values: "All", "Steps"`,
			},
		},
		"too long":  {patch: "spec: {timeoutSeconds: 31}", want: []string{`spec.timeoutSeconds: Invalid value: 31: must be from 1 to 30`}},
		"too short": {patch: "spec: {timeoutSeconds: 0}", want: []string{`spec.timeoutSeconds: Invalid value: 0: must be from 1 to 30`}},
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, ValidateSyncReview(decode[*v1alpha1.SyncReview](t, patched(t, syncReview, test.patch))), test.want...)
		})
	}
}

func TestValidateResyncRequest(t *testing.T) {
	operator := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	for name, test := range map[string]struct {
		spec v1alpha1.ResyncRequestSpec
		want []string
	}{
		"one parent":  {spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{Name: "a"}}},
		"all parents": {spec: v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{}}},
		"neither": {want: []string{
			"spec.parent: Required value: set parent or parents; parents: {} selects all parents",
		}},
		"both": {
			spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{Name: "a"}, Parents: &v1alpha1.ResyncParents{}},
			want: []string{"spec: Forbidden: only one of parent and parents may be set"},
		},
		"a parent without a name": {
			spec: v1alpha1.ResyncRequestSpec{Parent: &v1alpha1.SyncReviewParent{}},
			want: []string{"spec.parent.name: Required value: must be the name of the parent"},
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
