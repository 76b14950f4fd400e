// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// claim decides which objects of a type are the parent's children. Of those it
// controls, the ones its selector matches are; the others are let go. Of the orphans,
// the ones its selector matches become its children. A parent that is being deleted
// neither adopts nor lets go.
func claim(of stage.Type, parent *object.Object, selector labels.Selector, controlled, orphans []*object.Object) stage.Group {
	group := stage.Group{Type: of}
	alive := parent.DeletionTimestamp == nil
	for _, child := range controlled {
		switch {
		case parent.Namespace != "" && child.Namespace != parent.Namespace:
		case selector.Matches(labels.Set(child.Labels)):
			group.Claimed = append(group.Claimed, child)
		case alive:
			group.Release = append(group.Release, child)
		}
	}
	for _, orphan := range orphans {
		if alive && orphan.DeletionTimestamp == nil && selector.Matches(labels.Set(orphan.Labels)) {
			group.Claimed = append(group.Claimed, orphan)
			group.Adopt = append(group.Adopt, orphan)
		}
	}
	slices.SortFunc(group.Claimed, byName)
	slices.SortFunc(group.Adopt, byName)
	slices.SortFunc(group.Release, byName)
	return group
}

func byName(a, b *object.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
