// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

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
