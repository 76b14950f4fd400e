// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// claims reads which revision claims which child, by the index of the revision. Of several
// the first counts: the latest before all others, then the newer before the older.
func (m *members) claims() map[pipeline.Key]int {
	claims := map[pipeline.Key]int{}
	for i, revision := range m.Revisions {
		for _, record := range revision.stored {
			for kind, names := range namesByKind(record.Children) {
				for name := range names {
					id := storedChild(m.snapshot.Parent, kind, name)
					if _, claimed := claims[id]; !claimed {
						claims[id] = i
					}
				}
			}
		}
	}
	return claims
}

// claimsOf are the claims of the revision of that index, in the form in which they are stored.
func (m *members) claimsOf(index int) []v1alpha1.ControllerRevisionChildren {
	names := map[schema.GroupKind][]string{}
	for _, member := range m.inOrder {
		if member.at == index {
			names[member.GroupKind] = append(names[member.GroupKind], storedName(m.snapshot.Parent, member.Key))
		}
	}
	var claims []v1alpha1.ControllerRevisionChildren
	for _, kind := range slices.SortedFunc(maps.Keys(names), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	}) {
		slices.Sort(names[kind])
		claims = append(claims, v1alpha1.ControllerRevisionChildren{APIGroup: kind.Group, Kind: kind.Kind, Names: names[kind]})
	}
	return claims
}

// sameClaims tells whether claims are on the same children, in whatever order.
func sameClaims(a, b []v1alpha1.ControllerRevisionChildren) bool {
	return maps.EqualFunc(namesByKind(a), namesByKind(b), maps.Equal)
}

// namesByKind are the names in the claims of a revision. A kind without names is left out.
func namesByKind(claims []v1alpha1.ControllerRevisionChildren) map[schema.GroupKind]map[string]bool {
	names := map[schema.GroupKind]map[string]bool{}
	for _, claim := range claims {
		kind := schema.GroupKind{Group: claim.APIGroup, Kind: claim.Kind}
		for _, name := range claim.Names {
			if names[kind] == nil {
				names[kind] = map[string]bool{}
			}
			names[kind][name] = true
		}
	}
	return names
}
