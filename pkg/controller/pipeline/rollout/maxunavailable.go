// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// motion counts the children in motion. A child is in motion while it differs from what its
// revision wants, or is not healthy. motion decides which child may be set in motion in addition.
type motion struct {
	*children
	// latest counts those at the latest revision, and older those at all others.
	latest, older int
}

// countMotion finds out which children are in motion.
func (c *children) countMotion() (*motion, error) {
	m := &motion{children: c}
	for _, child := range c.inOrder {
		var err error
		switch child.motion, err = c.whyInMotion(child); {
		case err != nil:
			return nil, err
		case child.motion == "":
		case child.at == 0:
			m.latest++
		default:
			m.older++
		}
	}
	c.cache.completions = c.completions
	return m, nil
}

// next returns the index of the child that moves to the latest revision now, or -1 if none
// may. The children behind are in the order of the latest answer.
//
// The first child moves if fewer children than its limit are in motion, at the latest revision
// and in all. Children at older revisions count too, because an earlier rollout that did not
// finish may have left some in motion. If only these prevent the move, waiting would not help:
// their revision may be what is wrong with them. Then one of them moves, which sets no other
// child in motion.
func (m *motion) next(behind []*child) int {
	switch {
	case len(behind) == 0 || m.latest >= m.limit(behind[0]):
		return -1
	case behind[0].isInMotion() || m.latest+m.older < m.limit(behind[0]):
		return 0
	}
	return slices.IndexFunc(behind, func(child *child) bool {
		return child.isInMotion() && m.latest < m.limit(child)
	})
}

func (m *motion) limit(child *child) int { return child.kind.limit(m.ofKind[child.GroupKind]) }

// limit returns how many children may be in motion once a child of this kind moves. The
// argument is the number of children of the kind.
func (k *Kind) limit(children int) int {
	if k.MaxUnavailable == nil {
		return 1
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(k.MaxUnavailable, children, true)
	if err != nil {
		return 1
	}
	return max(limit, 1)
}

// move puts a child that is behind at the latest revision, which sets it in motion.
func (m *motion) move(behind *child) {
	if behind.isInMotion() {
		m.older--
	}
	m.latest++
	behind.at = 0
}

// waitsFor returns the child that the rollout waits for: the first child in motion at the latest
// revision or, if there is none, the first of all.
func (m *motion) waitsFor() *child {
	var first *child
	for _, child := range m.inOrder {
		switch {
		case !child.isInMotion():
		case child.at == 0:
			return child
		case first == nil:
			first = child
		}
	}
	return first
}
