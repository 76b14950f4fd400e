// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// identify returns which child of which rolling kind an object of an answer is. The kind is
// nil if it is none: its kind does not roll, or it could not be a child of the parent,
// which the plan refuses.
func (r *Rollout) identify(desired *object.Object) (pipeline.Key, *Kind) {
	kind := r.rules.kind(desired.GroupVersionKind())
	if kind == nil || desired.Name == "" {
		return pipeline.Key{}, nil
	}
	parent := r.snapshot.Parent
	id := pipeline.Key{GroupKind: kind.GroupKind(), NamespacedName: types.NamespacedName{Name: desired.Name}}
	if kind.Namespaced {
		id.Namespace = cmp.Or(desired.Namespace, parent.Namespace)
	}
	if kind.Namespaced != (id.Namespace != "") || parent.Namespace != "" && id.Namespace != parent.Namespace {
		return pipeline.Key{}, nil
	}
	return id, kind
}

// observedChildren are the children of rolling kinds that the snapshot shows.
func (r *Rollout) observedChildren(groups []pipeline.Group) map[pipeline.Key]*object.Object {
	observed := map[pipeline.Key]*object.Object{}
	for _, group := range groups {
		if r.rules.kind(group.Type.GroupVersionKind()) == nil {
			continue
		}
		for _, seen := range group.Claimed {
			observed[pipeline.KeyOf(seen)] = seen
		}
	}
	return observed
}
