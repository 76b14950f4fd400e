// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// This file finds orphans and the parents that may adopt them without looking at all objects of a
// namespace: there may be many more than belong to the controller.

// orphansByGeneratedLabel finds orphans by the value of the label that generated selectors match.
var orphansByGeneratedLabel = cache.Index{Name: "orphan/" + generatedLabel, Values: func(o *object.Object) []string {
	value := o.Labels[generatedLabel]
	if value == "" || metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	return []string{value}
}}

// orphansFor returns the orphans that the parent's selector may match.
func (c *LabelClaims) orphansFor(parent *object.Object, view *cache.View) []*object.Object {
	if !c.generate {
		return view.Orphans(parent.Namespace)
	}
	found := view.By(orphansByGeneratedLabel, string(parent.UID))
	return slices.DeleteFunc(found, func(orphan *object.Object) bool {
		return parent.Namespace != "" && orphan.Namespace != parent.Namespace
	})
}

// parentsByUID finds parents by their UID.
var parentsByUID = cache.Index{Name: "uid", Values: func(o *object.Object) []string { return []string{string(o.UID)} }}

// parentsWithUID returns the parent whose UID is in the generated label of an orphan, if it may
// have the orphan.
func parentsWithUID(parents *cache.View, orphan *object.Object) []*object.Object {
	found := parents.By(parentsByUID, orphan.Labels[generatedLabel])
	return slices.DeleteFunc(found, func(parent *object.Object) bool { return parent.Namespace != namespaceFor(parents, orphan) })
}

// parentsByRequirement finds parents by a label that their spec.selector requires: by the namespace
// of the parent, and the key and a value of the label. Parents whose selector requires no value of
// any label are found by the namespace alone.
var parentsByRequirement = cache.Index{Name: "spec.selector", Values: func(parent *object.Object) []string {
	selector, err := parseSelector(parent.Lookup("spec", "selector"))
	if err != nil {
		return nil // it adopts nothing
	}
	required := narrowest(selector)
	if required == nil {
		return []string{requirementKey(parent.Namespace)}
	}
	keys := make([]string, 0, required.Values().Len())
	for value := range required.Values() {
		keys = append(keys, requirementKey(parent.Namespace, required.Key(), value))
	}
	return keys
}}

// narrowest returns the requirement of a selector that allows the fewest values of a label; nil if
// none names values.
func narrowest(selector labels.Selector) *labels.Requirement {
	var found *labels.Requirement
	requirements, _ := selector.Requirements()
	for i := range requirements {
		requirement := &requirements[i]
		switch requirement.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if found == nil || requirement.Values().Len() < found.Values().Len() {
				found = requirement
			}
		}
	}
	return found
}

// requirementKey returns the value of the index for a namespace, and a label with its value.
func requirementKey(namespace string, label ...string) string {
	key := namespace
	for _, part := range label {
		key += "\x00" + part // no name has it in it
	}
	return key
}

// parentsBySelector returns the parents whose spec.selector may match an orphan.
func parentsBySelector(parents *cache.View, orphan *object.Object) []*object.Object {
	namespace := namespaceFor(parents, orphan)
	found := parents.By(parentsByRequirement, requirementKey(namespace))
	for key, value := range orphan.Labels {
		found = append(found, parents.By(parentsByRequirement, requirementKey(namespace, key, value))...)
	}
	return found
}

// namespaceFor returns the namespace in which the parents of an orphan are.
func namespaceFor(parents *cache.View, orphan *object.Object) string {
	if !parents.Type.Namespaced {
		return ""
	}
	return orphan.Namespace
}
