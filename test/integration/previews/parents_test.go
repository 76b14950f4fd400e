// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// Many parents are reviewed page by page, each once, whatever the page.
func TestManyParentsAreReviewedInPages(t *testing.T) {
	t.Parallel()
	f := prepare(t, before(t), after(t))
	f.RunComposite(f.CompositeSpec())
	for i := range 5 {
		f.CreateParentWith(fmt.Sprintf("p%d", i), object{"labels": object{"even": fmt.Sprint(i%2 == 0)}}, object{})
	}
	for i := range 5 {
		f.WaitForConfigMap(fmt.Sprintf("p%d-goes", i), harness.Exists)
	}
	review := v1alpha1.SyncReviewSpec{
		Controller: f.reviewed(), Candidate: f.candidate(), Details: v1alpha1.SyncReviewDetailsSteps,
		Parents: &v1alpha1.SyncReviewParents{Namespace: f.Namespace, Limit: ptr.To[int32](2)},
	}
	var pages [][]string
	changed := int32(0)
	for {
		status := f.review(review)
		var page []string
		for _, sync := range status.Syncs {
			page = append(page, sync.Parent.Name)
			if sync.Calls[0].Request != nil || sync.Calls[0].Response != nil {
				t.Error("requests and answers are shown")
			}
		}
		pages = append(pages, page)
		changed += status.Summary.Changed
		created := v1alpha1.ReviewedStepCount{Operation: v1alpha1.ReviewedCreate, APIVersion: "v1", Kind: "ConfigMap", Count: int32(len(page))}
		if len(status.Summary.Steps) == 0 || status.Summary.Parents != int32(len(page)) || !contains(status.Summary.Steps, created) {
			t.Errorf("the summary is %+v", status.Summary)
		}
		if review.Parents.Continue = status.Continue; status.Continue == "" {
			break
		}
	}
	if diff := cmp.Diff([][]string{{"p0", "p1"}, {"p2", "p3"}, {"p4"}}, pages); diff != "" || changed != 5 {
		t.Errorf("%d have changed; pages (-want +got):\n%s", changed, diff)
	}
	review.Parents = &v1alpha1.SyncReviewParents{LabelSelector: matching("even", "false")}
	if got := f.review(review); len(got.Syncs) != 2 || got.Syncs[0].Parent.Name != "p1" || got.Continue != "" {
		t.Errorf("by label, reviewed are %+v", got.Syncs)
	}
}

func contains(counts []v1alpha1.ReviewedStepCount, one v1alpha1.ReviewedStepCount) bool {
	for _, count := range counts {
		if count == one {
			return true
		}
	}
	return false
}

// A parent that does not exist is reviewed as if it were created: with the defaults of the cluster. Its
// children are accepted although it has no UID yet.
func TestAParentThatDoesNotExist(t *testing.T) {
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			f := prepare(t, before(t), after(t))
			f.RunComposite(f.CompositeSpec(applied(engine, v1alpha1.ChildUpdateInPlace)))
			review := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Until: v1alpha1.SyncReviewUntilDryRun, Object: f.thing("new", object{"a": 1})}
			from := env.AuditEnd(t)
			sync := f.review(review).Syncs[0]
			outcomes := map[string]v1alpha1.ReviewedOutcome{}
			for _, step := range sync.Steps {
				outcomes[step.Kind+" "+step.Name] = step.DryRun.Outcome
			}
			want := map[string]v1alpha1.ReviewedOutcome{
				"ConfigMap new-stays": v1alpha1.ReviewedAccepted, "ConfigMap new-changes": v1alpha1.ReviewedAccepted, "ConfigMap new-goes": v1alpha1.ReviewedAccepted,
				"Thing new": v1alpha1.ReviewedNotSent,
			}
			if diff := cmp.Diff(want, outcomes); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if text := string(sync.Steps[0].Changes[0].To.Raw); !strings.Contains(text, `"uid":"00000000-0000-0000-0000-000000000000"`) || !strings.Contains(text, `"controller-uid":"00000000-`) {
				t.Errorf("a child is %s", text)
			}
			f.expectNothing(from)
			if _, err := f.GetParent(t.Context(), "new"); !apierrors.IsNotFound(err) {
				t.Errorf("the parent: %v", err)
			}
		})
	}
}

func (f *fixture) thing(name string, spec object) *runtime.RawExtension {
	return raw(f.T, object{
		"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": name, "namespace": f.Namespace}, "spec": spec,
	})
}

// What is wrong in a review is said, with the field.
func testReviewsThatCannotBeAnswered(t *testing.T, f *fixture) {
	composite := func(change func(*v1alpha1.SyncReviewSpec)) v1alpha1.SyncReviewSpec {
		spec := f.of("a")
		change(&spec)
		return spec
	}
	for name, test := range map[string]struct {
		spec v1alpha1.SyncReviewSpec
		want string
	}{
		"a controller that does not exist": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Controller.Name = "nobody" }), `compositecontrollers.metacontroller.k8s.io "nobody" not found`,
		},
		"a parent that does not exist": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Parent.Name = "b" }), `the controller does not handle Thing ` + f.Namespace + `/b: the object does not exist, or the controller does not select it`,
		},
		"a parent of another kind": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Parent.Kind = "Pod" }),
			`spec.parent: the controller handles Thing of ` + f.Parents.GroupVersion().String(),
		},
		"a parent without a namespace": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Parent.Namespace = "" }), `spec.parent: set namespace: Thing.` + f.Parents.GroupVersion().String() + ` is namespaced`,
		},
		"an object of another kind": {
			composite(func(s *v1alpha1.SyncReviewSpec) {
				s.Parent, s.Object = nil, raw(t, object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "a"}})
			}),
			`spec.object: it is "Pod" of "v1", but the controller handles Thing`,
		},
		"an object that is invalid": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Parent, s.Object = nil, f.thing("Not_A_Name", nil) }), `metadata.name: Invalid value: "Not_A_Name"`,
		},
		"a candidate with an unknown field": {
			composite(func(s *v1alpha1.SyncReviewSpec) { s.Candidate = raw(t, object{"hoks": object{}}) }),
			`unknown field "spec.candidate.hoks"`,
		},
		"a candidate whose types there are not": {
			composite(func(s *v1alpha1.SyncReviewSpec) {
				s.Candidate = raw(t, object{"parentResource": object{"apiVersion": "v1", "resource": "things"}, "hooks": object{"sync": object{"webhook": object{"url": "http://a.example"}}}})
			}), `the controller cannot run with this spec: parent type: can't find resource "things" in apiVersion "v1"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews().Create(t.Context(), &v1alpha1.SyncReview{Spec: test.spec}, metav1.CreateOptions{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the answer is %v, want %s", err, test.want)
			}
		})
	}
}
