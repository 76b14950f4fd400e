// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "slices"

// motion counts who of the members is in motion: not what its revision wants of it, or not
// healthy. It decides who may be set in motion in addition.
type motion struct {
	*members
	// latest are those at the latest revision, and older those at all others.
	latest, older int
}

func (m *members) motion() (*motion, error) {
	moving := &motion{members: m}
	for _, member := range m.inOrder {
		var err error
		switch member.why, err = m.trouble(member); {
		case err != nil:
			return nil, err
		case member.why == "":
		case member.at == 0:
			moving.latest++
		default:
			moving.older++
		}
	}
	return moving, nil
}

// next returns the index of who of those behind, in the order of the latest answer, moves
// to the latest revision now; -1 is nobody.
//
// The next one in order moves if not too many at the latest revision are in motion, nor too
// many in all. Those at older revisions count too, since an earlier rollout that came to no
// end may have left some in motion. If it is these that stand in the way, waiting would not
// help: what is wrong with them may be their revision. Then one of them moves, which sets
// nobody else in motion.
func (m *motion) next(behind []*member) int {
	switch {
	case len(behind) == 0 || m.latest >= m.limit(behind[0]):
		return -1
	case behind[0].inMotion() || m.latest+m.older < m.limit(behind[0]):
		return 0
	}
	return slices.IndexFunc(behind, func(member *member) bool {
		return member.inMotion() && m.latest < m.limit(member)
	})
}

func (m *motion) limit(member *member) int { return member.kind.limit(m.ofKind[member.GroupKind]) }

// move has a member that is behind be at the latest revision, which sets it in motion.
func (m *motion) move(behind *member) {
	if behind.inMotion() {
		m.older--
	}
	m.latest++
	behind.at = 0
}

// why says for which of those in motion the rollout waits, and why: for the first at the
// latest revision, if there is one.
func (m *motion) why() string {
	var why string
	for _, member := range m.inOrder {
		switch {
		case !member.inMotion():
		case member.at == 0:
			return member.why
		case why == "":
			why = member.why
		}
	}
	return why
}
