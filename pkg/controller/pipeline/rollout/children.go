// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// members are the children that the latest revision wants of rolling kinds, and at which
// revision each of them is.
type members struct {
	*Rollout
	// inOrder are the members in the order of the latest answer.
	inOrder []*member
	// ofKind counts those of each kind.
	ofKind   map[schema.GroupKind]int
	upToDate UpToDate
}

// member is a child of a rolling kind.
type member struct {
	pipeline.Key
	kind *Kind
	// place counts the children of the kind that the latest answer lists before.
	place int
	// observed is the child as it is, nil if it is missing.
	observed *object.Object
	// forms are what the revisions want of the child, by the index of the revision. One
	// that does not list the child has nil.
	forms []*object.Object
	// at is the index of the revision that the child is at; zero is the latest.
	at int
	// why says why the member is in motion, once that is known; it is empty if it is not.
	why string
}

// members reads the answers. Of a child that an answer lists twice the last entry counts, in
// the place of the first.
func (r *Rollout) members(responses []*pipeline.Response, upToDate UpToDate) *members {
	m := &members{Rollout: r, ofKind: map[schema.GroupKind]int{}, upToDate: upToDate}
	observed := r.observedChildren(r.snapshot.Children)
	known := map[pipeline.Key]*member{}
	for i, response := range responses {
		for _, desired := range response.Children {
			id, kind := r.identify(desired)
			if kind == nil {
				continue
			}
			if i == 0 && known[id] == nil {
				known[id] = &member{
					Key: id, kind: kind, place: m.ofKind[id.GroupKind],
					observed: observed[id], forms: make([]*object.Object, len(responses)),
				}
				m.inOrder = append(m.inOrder, known[id])
				m.ofKind[id.GroupKind]++
			}
			if member := known[id]; member != nil {
				member.forms[i] = desired
			}
		}
	}
	return m
}

// held tells whether the partition of its kind keeps the member where it is.
func (m *member) held() bool { return m.place < m.kind.Partition }

// inMotion tells whether the member was in motion when the sync began.
func (m *member) inMotion() bool { return m.why != "" }
