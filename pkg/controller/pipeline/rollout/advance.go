// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// advance moves as many members to the latest revision as may move now, and says in the
// condition how far the rollout is. Waits tells that a child in motion keeps others from
// moving.
func (m *members) advance() (condition metav1.Condition, waits bool, err error) {
	var behind, held []*member
	for _, member := range m.inOrder {
		switch {
		case member.at == 0:
		case member.held():
			held = append(held, member)
		default:
			behind = append(behind, member)
		}
	}
	switch {
	case len(behind) == 0 && len(held) == 0:
		return updated(onLatestRevision, "latest ControllerRevision: "+m.Revisions[0].Name), false, nil
	case len(behind) == 0:
		return updated(rolloutWaiting, fmt.Sprintf("partition %d holds back %s", held[0].kind.Partition, m.list(held))), false, nil
	}
	moving, err := m.motion()
	if err != nil {
		return metav1.Condition{}, false, err
	}
	var moved []*member
	for i := moving.next(behind); i >= 0; i = moving.next(behind) {
		moving.move(behind[i])
		moved = append(moved, behind[i])
		behind = slices.Delete(behind, i, i+1)
	}
	if len(moved) > 0 {
		return updated(rolloutProgressing, "updating "+m.list(moved)), false, nil
	}
	return updated(rolloutWaiting, moving.why()), true, nil
}

// mostListed bounds how many members a message names.
const mostListed = 10

// list names members as messages do.
func (m *members) list(listed []*member) string {
	var names []string
	for _, member := range listed[:min(len(listed), mostListed)] {
		names = append(names, m.nameOf(member))
	}
	text := strings.Join(names, ", ")
	if more := len(listed) - mostListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// nameOf names a member as messages do.
func (m *members) nameOf(member *member) string {
	return member.Kind + " " + revisions.ChildName(m.snapshot.Parent, member.Key)
}
