// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"iter"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// assign puts each member to the revision that it is at: the one that claims it, and the
// latest if none does or if the child is what the latest wants already.
//
// Claims on children that are no members come to nothing, one by one: on kinds that no
// longer roll and on children that the latest revision does not want. So do those on
// children that the claiming revision itself does not want any more, since it cannot say
// what to make of them.
func (m *members) assign() error {
	claims := m.claims()
	for _, member := range m.inOrder {
		at, claimed := claims[member.Key]
		if !claimed || at == 0 || member.forms[at] == nil {
			continue
		}
		member.at = at
		if member.observed == nil {
			continue
		}
		asLatest, err := m.upToDate(member.observed, member.forms[0])
		if err != nil {
			return err
		}
		if asLatest {
			member.at = 0
		}
	}
	return nil
}

// claims reads which revision claims which child, by the index of the revision. Of several
// the first counts: the latest before all others, then the newer before the older.
func (m *members) claims() map[pipeline.Key]int {
	claims := map[pipeline.Key]int{}
	for i, revision := range m.Revisions {
		for _, record := range revision.stored {
			for id := range record.ChildKeys(m.snapshot.Parent) {
				if _, claimed := claims[id]; !claimed {
					claims[id] = i
				}
			}
		}
	}
	return claims
}

// claimsOf are the members that are at the revision of that index.
func (m *members) claimsOf(index int) iter.Seq[pipeline.Key] {
	return func(yield func(pipeline.Key) bool) {
		for _, member := range m.inOrder {
			if member.at == index && !yield(member.Key) {
				return
			}
		}
	}
}
