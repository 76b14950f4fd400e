// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// CompositeInputs is the hash of what the plan of a CompositeController's parent depends on
// beside the hook's answer: as long as it stays, so does the plan. Not among it is what others
// may write on the parent without any effect, such as its annotations, nor how the host describes
// the children: a child that needs no write by one description is Settled by all.
func CompositeInputs(snapshot *pipeline.Snapshot) uint64 {
	i := inputs{}
	i.snapshot(snapshot)
	i.number(uint64(snapshot.Parent.Generation))
	if snapshot.Selector != nil {
		i.text(snapshot.Selector.String())
	}
	return i.hash.Sum64()
}

// DecoratorInputs is CompositeInputs for a DecoratorController's target, of which the plan depends
// on the labels and annotations too.
func DecoratorInputs(snapshot *pipeline.Snapshot) uint64 {
	i := inputs{}
	i.snapshot(snapshot)
	i.number(snapshot.Parent.Hash)
	return i.hash.Sum64()
}

// inputs hashes what a plan depends on.
type inputs struct{ hash xxhash.Digest }

// snapshot adds what plans of both kinds depend on.
func (i *inputs) snapshot(snapshot *pipeline.Snapshot) {
	i.hash.Reset()
	parent := snapshot.Parent
	i.text(string(parent.UID))
	i.bytes(parent.Lookup("status"))
	for _, yes := range []bool{snapshot.Managed, snapshot.Finalizing, isHeld(snapshot), parent.DeletionTimestamp != nil} {
		i.yesOrNo(yes)
	}
	for _, group := range snapshot.Children {
		i.objects(group.Claimed)
		i.objects(group.Adopt)
		i.objects(group.Release)
	}
}

func (i *inputs) objects(objects []*object.Object) {
	i.number(uint64(len(objects)))
	for _, o := range objects {
		i.text(string(o.UID))
		i.text(o.ResourceVersion)
		i.number(o.Hash) // a version may look otherwise than before, as after a change of a conversion webhook
	}
}

func (i *inputs) text(text string) {
	i.number(uint64(len(text)))
	_, _ = i.hash.WriteString(text)
}

func (i *inputs) bytes(bytes []byte) {
	i.number(uint64(len(bytes)))
	_, _ = i.hash.Write(bytes)
}

func (i *inputs) yesOrNo(yes bool) {
	if yes {
		i.number(1)
	} else {
		i.number(0)
	}
}

func (i *inputs) number(number uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], number)
	_, _ = i.hash.Write(bytes[:])
}
