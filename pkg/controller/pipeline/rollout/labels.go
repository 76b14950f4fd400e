// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// The labels that say of which type a revision's parent is.
const (
	apiGroupLabel = v1alpha1.GroupName + "/apiGroup"
	resourceLabel = v1alpha1.GroupName + "/resource"
)

// labelsOf are the labels of a new revision of the snapshot's parent: those that its
// children find it by, if they are generated, else those of its Pod template, both as in
// Metacontroller. Unlike there, they are made to match the parent's selector where they
// do not.
func labelsOf(snapshot *pipeline.Snapshot) map[string]string {
	set := maps.Clone(snapshot.GeneratedLabels)
	if set == nil {
		set = templateLabels(snapshot)
	}
	satisfy(set, snapshot.Selector)
	set[apiGroupLabel] = snapshot.ParentType.Group
	set[resourceLabel] = snapshot.ParentType.Resource
	return set
}

// templateLabels are the labels that the parent's Pod template has, but for what could
// not be a label.
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

// satisfy changes labels as little as is needed for a selector of Kubernetes to match them.
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
