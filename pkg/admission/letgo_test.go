// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// parentWith is an object with the labels, and with the finalizer of the composite if it is held.
func parentWith(held bool, labels map[string]string) metav1.PartialObjectMetadata {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: labels["app"], Labels: labels, Annotations: labels}}
	if held {
		object.Finalizers = []string{"other", "metacontroller.io/compositecontroller-pages"}
	}
	return object
}

func selecting(app string) func(*metacontroller.CompositeControllerSpec) {
	return func(spec *metacontroller.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
}

func finalizing(spec *metacontroller.CompositeControllerSpec) {
	spec.Hooks.Finalize = hookAt("http://hooks.default/finalize")
}

func ofType(resource string) func(*metacontroller.CompositeControllerSpec) {
	return func(spec *metacontroller.CompositeControllerSpec) { spec.ParentResource.Resource = resource }
}

// annotated is a DecoratorController of pages with an annotation, and of pods.
func annotated(expressions ...metav1.LabelSelectorRequirement) *metacontroller.DecoratorController {
	decorator := decorating(decorated("pages"), "pods", "pods")
	decorator.Spec.Resources[0].AnnotationSelector = &metacontroller.AnnotationSelector{MatchExpressions: expressions}
	return decorator
}

func TestParentsThatAChangeLetsGoOf(t *testing.T) {
	blog, shop := map[string]string{"app": "blog"}, map[string]string{"app": "shop"}
	three := func(held bool) map[string][]metav1.PartialObjectMetadata {
		return map[string][]metav1.PartialObjectMetadata{
			"":         {parentWith(held, blog), parentWith(held, blog), parentWith(held, shop)},
			"app=blog": {parentWith(held, blog), parentWith(held, blog)},
		}
	}
	has := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	for name, test := range map[string]struct {
		objects        map[string][]metav1.PartialObjectMetadata
		hasMore        bool
		stored, object runtime.Object
		asked          []string
		want           []string
	}{
		"a narrower selector, with a finalize hook": {
			objects: three(true), stored: composed(finalizing), object: composed(finalizing, selecting("shop")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource.labelSelector: 2 parents (pages.example.com blog, blog) stop matching: their finalize hook will be called; to keep them, have spec.parentResource.labelSelector match them"},
		},
		"a former selector that is empty": {
			objects: three(true), stored: composed(finalizing, func(spec *metacontroller.CompositeControllerSpec) {
				spec.ParentResource.LabelSelector = &metav1.LabelSelector{}
			}),
			object: composed(finalizing, selecting("shop")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource.labelSelector: 2 parents (pages.example.com blog, blog) stop matching: their finalize hook will be called; to keep them, have spec.parentResource.labelSelector match them"},
		},
		"one parent alone": {
			objects: three(true), stored: composed(finalizing), object: composed(finalizing, selecting("blog")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource.labelSelector: 1 parent (pages.example.com shop) stops matching: its finalize hook will be called; to keep it, have spec.parentResource.labelSelector match it"},
		},
		"more parents than are counted": {
			objects: three(true), hasMore: true, stored: composed(finalizing), object: composed(finalizing, selecting("blog")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource.labelSelector: at least 1 parent (pages.example.com shop and others) stops matching: its finalize hook will be called; to keep it, have spec.parentResource.labelSelector match it"},
		},
		"a narrower selector, without a finalize hook": {
			objects: three(false), stored: composed(), object: composed(selecting("shop")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource.labelSelector: 2 parents (pages.example.com blog, blog) stop matching: they are not synced any more, and their children stay as they are; to keep them, have spec.parentResource.labelSelector match them"},
		},
		"another selector, of which only those of the former count": {
			objects: three(true), stored: composed(finalizing, selecting("blog")), object: composed(finalizing, selecting("shop")), asked: []string{"list pages.example.com", "list pages.example.com app=blog"},
			want: []string{"spec.parentResource.labelSelector: 2 parents (pages.example.com blog, blog) stop matching: their finalize hook will be called; to keep them, have spec.parentResource.labelSelector match them"},
		},
		"a wider selector": {objects: three(true), stored: composed(finalizing, selecting("blog")), object: composed(finalizing)},
		"another type, with a finalize hook": {
			objects: three(true), stored: composed(finalizing), object: composed(finalizing, ofType("books")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource: 3 parents (pages.example.com blog, blog, shop) stop matching: their finalizer is removed without a call of the finalize hook, and their children stay as they are; to keep them, have spec.parentResource match them"},
		},
		"another type, without a finalize hook": {
			objects: three(false), stored: composed(), object: composed(ofType("books")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.parentResource: 3 parents (pages.example.com blog, blog, shop) stop matching: they are not synced any more, and their children stay as they are; to keep them, have spec.parentResource match them"},
		},
		"no finalize hook any more": {
			objects: three(true), stored: composed(finalizing), object: composed(), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{"spec.hooks.finalize: 3 parents (pages.example.com blog, blog, shop) lose their finalizer: no hook will be called when they are deleted; keep spec.hooks.finalize until they are deleted, or set it again, which puts the finalizer back"},
		},
		"no finalize hook any more, and a narrower selector": {
			objects: three(true), stored: composed(finalizing), object: composed(selecting("shop")), asked: []string{"list pages.example.com", "list pages.example.com"},
			want: []string{
				"spec.parentResource.labelSelector: 2 parents (pages.example.com blog, blog) stop matching: their finalizer is removed without a call of the finalize hook, and their children stay as they are; to keep them, have spec.parentResource.labelSelector match them",
				"spec.hooks.finalize: 1 parent (pages.example.com shop) loses its finalizer: no hook will be called when it is deleted; keep spec.hooks.finalize until it is deleted, or set it again, which puts the finalizer back",
			},
		},
		"a narrower selector that all parents match": {
			objects: map[string][]metav1.PartialObjectMetadata{"": {parentWith(true, shop)}}, stored: composed(finalizing), object: composed(finalizing, selecting("shop")),
			asked: []string{"list pages.example.com", "list pages.example.com"},
		},
		"a change of something else": {
			objects: three(true), stored: composed(finalizing, selecting("blog")), object: composed(finalizing, selecting("blog"), child("v1", "pods")),
		},
		"a new controller": {objects: three(true), object: composed(finalizing, selecting("blog"))},
		"targets by their annotations": {
			objects: three(false), stored: annotated(has("app", "Exists")), object: annotated(has("app", "In", "shop"), has("x", "DoesNotExist"), has("x", "NotIn", "a")),
			asked: []string{"list pages.example.com", "list pages.example.com"},
			want:  []string{"spec.resources[0].annotationSelector: 2 parents (pages.example.com blog, blog) stop matching: they are not synced any more, and their children stay as they are; to keep them, have spec.resources[0].annotationSelector match them"},
		},
		"a type of targets that is gone": {
			objects: three(false), stored: annotated(has("app", "NotIn", "shop")), object: decorated("pods"), asked: []string{"list pages.example.com", "list pages.example.com", "list pods", "list pods"},
			want: []string{
				"spec.resources: 2 parents (pages.example.com blog, blog) stop matching: they are not synced any more, and their children stay as they are; to keep them, have spec.resources match them",
				"spec.resources: 3 parents (pods blog, blog, shop) stop matching: they are not synced any more, and their children stay as they are; to keep them, have spec.resources match them",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{objects: test.objects, hasMore: test.hasMore, rules: []string{"*"}}
			var got []string
			if test.stored != nil {
				got = host.asHost().letGo(t.Context(), newReviewer(host, jane()), "pages", controllerOf(test.stored), controllerOf(test.object))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if asked := host.questions(); !slices.Equal(asked, test.asked) {
				t.Errorf("the host was asked %q, want %q", asked, test.asked)
			}
			for _, text := range got {
				if len(text) > 256 {
					t.Errorf("the warning has %d characters, want 256 at most", len(text))
				}
			}
		})
	}
}

func TestNobodyIsWarnedOfParentsThatCannotBeCounted(t *testing.T) {
	host := &fakeHost{discoveryErr: errGone, rules: []string{"*"}}
	if got := host.asHost().letGo(t.Context(), newReviewer(host, jane()), "pages", controllerOf(composed(finalizing)), controllerOf(composed())); len(got) > 0 {
		t.Errorf("warned of %q", got)
	}
}

// The numbers would tell what is in objects that the author may not see.
func TestWhoMayNotListParentsIsNotToldHowManyThereAre(t *testing.T) {
	host := &fakeHost{objects: map[string][]metav1.PartialObjectMetadata{"": {parentWith(true, nil)}}}
	if got := host.asHost().letGo(t.Context(), newReviewer(host, jane()), "pages", controllerOf(composed(finalizing)), controllerOf(composed())); len(got) > 0 {
		t.Errorf("warned of %q", got)
	}
	if asked := host.questions(); !slices.Equal(asked, []string{"list pages.example.com"}) {
		t.Errorf("the host was asked %q, want the review alone", asked)
	}
}
