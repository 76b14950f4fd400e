// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func selecting(app string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
}

func finalizing(spec *v1alpha1.CompositeControllerSpec) {
	spec.Hooks.Finalize = hookAt("http://hooks.default/finalize")
}

func ofType(resource string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.ParentResource.Resource = resource }
}

// annotated is a DecoratorController of pages with an annotation, and of pods.
func annotated(expressions ...metav1.LabelSelectorRequirement) *v1alpha1.DecoratorController {
	decorator := decorating(decorated("pages"), "pods", "pods")
	decorator.Spec.Resources[0].AnnotationSelector = &v1alpha1.AnnotationSelector{MatchExpressions: expressions}
	return decorator
}

func TestParentsThatAChangeLetsGoOf(t *testing.T) {
	exists := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists}
	const labels, parents = "spec.parentResource.labelSelector", "spec.parentResource"
	stop := func(path, resource, becomes string) string {
		return fmt.Sprintf("%s: parents (%s) that stop matching are let go of: %s", path, resource, becomes)
	}
	const pages = "pages.example.com"
	const finalized = "their finalize hook will be called"
	const stay = "they are not synced any more, and their children stay as they are"
	const released = "their finalizer is removed without a call of the finalize hook, and their children stay as they are"
	const lose = "spec.hooks.finalize: parents lose their finalizer: no hook will be called when they are deleted; " +
		"set it again to put the finalizer back"
	empty := func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &metav1.LabelSelector{}
	}
	for name, test := range map[string]struct {
		stored, object runtime.Object
		want           []string
	}{
		"a narrower selector, with a finalize hook": {
			composed(finalizing), composed(finalizing, selecting("shop")), []string{stop(labels, pages, finalized)},
		},
		"a former selector that is empty": {
			composed(finalizing, empty), composed(finalizing, selecting("shop")), []string{stop(labels, pages, finalized)},
		},
		"a narrower selector, without a finalize hook": {
			composed(), composed(selecting("shop")), []string{stop(labels, pages, stay)},
		},
		"another selector": {
			composed(finalizing, selecting("blog")), composed(finalizing, selecting("shop")),
			[]string{stop(labels, pages, finalized)},
		},
		"a wider selector": {composed(finalizing, selecting("blog")), composed(finalizing), nil},
		"another type, with a finalize hook": {
			composed(finalizing), composed(finalizing, ofType("books")), []string{stop(parents, pages, released)},
		},
		"another type, without a finalize hook": {
			composed(), composed(ofType("books")), []string{stop(parents, pages, stay)},
		},
		"no finalize hook any more": {composed(finalizing), composed(), []string{lose}},
		"no finalize hook any more, and a narrower selector": {
			composed(finalizing), composed(selecting("shop")), []string{stop(labels, pages, released), lose},
		},
		"a change of something else": {
			composed(finalizing, selecting("blog")), composed(finalizing, selecting("blog"), child("v1", "pods")), nil,
		},
		"targets by their annotations": {
			annotated(), annotated(exists), []string{stop("spec.resources", pages, stay)},
		},
		"a type of targets that is gone": {
			annotated(exists), decorated("pods"),
			[]string{stop("spec.resources", pages, stay), stop("spec.resources", "pods", stay)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := letGo(controllerOf(test.stored), controllerOf(test.object))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, text := range got {
				if len(text) > 256 {
					t.Errorf("the warning has %d characters, want 256 at most", len(text))
				}
			}
		})
	}
}
