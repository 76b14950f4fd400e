// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// These labels of a revision name the type of its parent.
const (
	apiGroupLabel = v1alpha1.GroupName + "/apiGroup"
	resourceLabel = v1alpha1.GroupName + "/resource"
)

// Labels returns the labels of a new revision of the snapshot's parent.
//
// They are the generated labels by which the parent finds its children or, if there are none,
// those of its Pod template. Metacontroller does the same. Unlike Metacontroller, Labels changes
// labels that do not match the parent's selector until they match.
func Labels(snapshot *pipeline.Snapshot) map[string]string {
	set := maps.Clone(snapshot.GeneratedLabels)
	if set == nil {
		set = templateLabels(snapshot)
	}
	satisfy(set, snapshot.Selector)
	set[apiGroupLabel] = snapshot.ParentType.Group
	set[resourceLabel] = snapshot.ParentType.Resource
	return set
}

// templateLabels returns the labels of the parent's Pod template, except values that are not valid
// labels.
func templateLabels(snapshot *pipeline.Snapshot) map[string]string {
	set := map[string]string{}
	raw := snapshot.Parent.Lookup("spec", "template", "metadata", "labels")
	if raw == nil || json.Unmarshal(raw, &set) != nil || set == nil {
		return map[string]string{}
	}
	maps.DeleteFunc(set, func(key, value string) bool {
		return len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0
	})
	return set
}

// satisfy changes as few labels as needed for the selector to match them.
func satisfy(set map[string]string, selector labels.Selector) {
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if requirement.Matches(labels.Set(set)) {
			continue
		}
		switch requirement.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			set[requirement.Key()] = requirement.Values().List()[0]
		case selection.Exists:
			set[requirement.Key()] = ""
		default:
			delete(set, requirement.Key())
		}
	}
}
