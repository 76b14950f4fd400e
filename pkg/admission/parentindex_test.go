// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestSelectorsThatKeepParentsApart(t *testing.T) {
	label := func(operator metav1.LabelSelectorOperator, values ...string) *v1alpha1.LabelSelector {
		return &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "app",
			Operator: operator, Values: values}}}
	}
	for i, test := range []struct {
		a, b *v1alpha1.LabelSelector
		want bool
	}{
		{nil, nil, false},
		{nil, label("Exists"), false},
		{&v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			&v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}, true},
		{&v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			&v1alpha1.LabelSelector{MatchLabels: map[string]string{"tier": "b"}}, false},
		{label("In", "a", "b"), label("In", "b", "c"), false},
		{label("In", "a", "b"), label("In", "c"), true},
		{label("In", "a"), label("NotIn", "a", "b"), true},
		{label("In", "a", "c"), label("NotIn", "a", "b"), false},
		{label("In", "a"), label("DoesNotExist"), true},
		{label("Exists"), label("DoesNotExist"), true},
		{label("Exists"), label("In", "a"), false},
		{label("NotIn", "a"), label("NotIn", "b"), false},
		{label("NotIn", "a"), label("DoesNotExist"), false},
		{label("In"), label("In", "a"), false}, // In without values is not a valid selector
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := areDisjoint(test.a, test.b); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if areDisjoint(test.b, test.a) != test.want {
				t.Error("it is otherwise the other way round")
			}
		})
	}
}

// Of controllers in other namespaces, an author is not even told the names.
func TestControllersWithoutANamespaceInCommonHandleNoParentsInCommon(t *testing.T) {
	limitedTo := func(namespaces ...string) *controller {
		return controllerOf(composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.Namespaces = namespaces }))
	}
	index := indexOf(t, &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "pages"}},
			Access:         v1alpha1.Access{Namespaces: []string{"bank", "shared"}},
		},
	})
	for name, test := range map[string]struct {
		controller *controller
		want       int
	}{
		"in one of its namespaces": {limitedTo("shop", "shared"), 1},
		"in others":                {limitedTo("shop"), 0},
		"in all":                   {limitedTo(), 1},
	} {
		if warnings := index.warnings("pages", test.controller); len(warnings) != test.want {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// parentIndex returns an index of CompositeControllers of pages, given by their names and
// selectors. That of the name a is of example.com/v1, and the others of example.com/v2.
func parentIndex(t *testing.T, selectors map[string]*v1alpha1.LabelSelector) *ParentIndex {
	t.Helper()
	var all []*v1alpha1.CompositeController
	for name, selector := range selectors {
		version := "example.com/v2"
		if name == "a" {
			version = "example.com/v1"
		}
		all = append(all, &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.CompositeControllerSpec{ParentResource: v1alpha1.CompositeControllerParentResourceRule{
				ResourceRule: v1alpha1.ResourceRule{APIVersion: version, Resource: "pages"}, LabelSelector: selector,
			}},
		})
	}
	return indexOf(t, all...)
}

func indexOf(t *testing.T, all ...*v1alpha1.CompositeController) *ParentIndex {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byParent: parentResource})
	for _, one := range all {
		stored, err := trimToParent(one)
		if err == nil {
			err = indexer.Add(stored)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index := &ParentIndex{}
	index.indexer.Store(&indexer)
	return index
}
