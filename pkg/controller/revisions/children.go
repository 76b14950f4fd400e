// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// ChildName returns the name of a child in revisions and messages. It is relative to the parent: it includes the
// namespace if the parent is cluster-scoped.
func ChildName(parent *object.Object, child object.Key) string {
	if parent.Namespace != "" || child.Namespace == "" {
		return child.Name
	}
	return child.Namespace + "/" + child.Name
}

// childKey returns the key of the child with a name in a revision of the parent. It is the inverse of ChildName.
func childKey(parent *object.Object, kind schema.GroupKind, name string) object.Key {
	key := object.Key{GroupKind: kind, NamespacedName: types.NamespacedName{Namespace: parent.Namespace, Name: name}}
	if namespace, name, found := strings.Cut(name, "/"); found && parent.Namespace == "" {
		key.NamespacedName = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return key
}

// ChildKeys returns the keys of the children of the parent that the revision names.
func (s *Stored) ChildKeys(parent *object.Object) iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for kind, names := range NamesByKind(s.Children) {
			for name := range names {
				if !yield(childKey(parent, kind, name)) {
					return
				}
			}
		}
	}
}

// Children returns children of the parent in the form of revisions.
func Children(parent *object.Object, children iter.Seq[object.Key]) []v1alpha1.ControllerRevisionChildren {
	names := map[schema.GroupKind][]string{}
	for child := range children {
		names[child.GroupKind] = append(names[child.GroupKind], ChildName(parent, child))
	}
	var named []v1alpha1.ControllerRevisionChildren
	for _, kind := range slices.SortedFunc(maps.Keys(names), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	}) {
		slices.Sort(names[kind])
		named = append(named, v1alpha1.ControllerRevisionChildren{APIGroup: kind.Group, Kind: kind.Kind, Names: names[kind]})
	}
	return named
}

// SameChildren reports whether a and b name the same children, in any order.
func SameChildren(a, b []v1alpha1.ControllerRevisionChildren) bool {
	return maps.EqualFunc(NamesByKind(a), NamesByKind(b), maps.Equal)
}

// NamesByKind returns the names of the children that a revision names. A kind without names is
// left out.
func NamesByKind(children []v1alpha1.ControllerRevisionChildren) map[schema.GroupKind]map[string]bool {
	names := map[schema.GroupKind]map[string]bool{}
	for _, group := range children {
		kind := schema.GroupKind{Group: group.APIGroup, Kind: group.Kind}
		for _, name := range group.Names {
			if names[kind] == nil {
				names[kind] = map[string]bool{}
			}
			names[kind][name] = true
		}
	}
	return names
}
