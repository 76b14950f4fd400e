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
	i := snapshotHash{}
	i.addSnapshot(snapshot)
	i.addNumber(uint64(snapshot.Parent.Generation))
	if snapshot.Selector != nil {
		i.addText(snapshot.Selector.String())
	}
	return i.digest.Sum64()
}

// DecoratorInputs is CompositeInputs for a DecoratorController's target, of which the plan depends
// on the labels and annotations too.
func DecoratorInputs(snapshot *pipeline.Snapshot) uint64 {
	i := snapshotHash{}
	i.addSnapshot(snapshot)
	i.addNumber(snapshot.Parent.Hash)
	return i.digest.Sum64()
}

// snapshotHash hashes what a plan depends on.
type snapshotHash struct{ digest xxhash.Digest }

// addSnapshot adds what plans of both kinds depend on.
func (i *snapshotHash) addSnapshot(snapshot *pipeline.Snapshot) {
	i.digest.Reset()
	parent := snapshot.Parent
	i.addText(string(parent.UID))
	i.addBytes(parent.Lookup("status"))
	for _, yes := range []bool{snapshot.Managed, snapshot.Finalizing, hasFinalizer(snapshot), parent.DeletionTimestamp != nil} {
		i.addBool(yes)
	}
	for _, group := range snapshot.Children {
		i.addObjects(group.Claimed)
		i.addObjects(group.Adopt)
		i.addObjects(group.Release)
	}
}

func (i *snapshotHash) addObjects(objects []*object.Object) {
	i.addNumber(uint64(len(objects)))
	for _, o := range objects {
		i.addText(string(o.UID))
		i.addText(o.ResourceVersion)
		i.addNumber(o.Hash) // a version may look otherwise than before, as after a change of a conversion webhook
	}
}

func (i *snapshotHash) addText(text string) {
	i.addNumber(uint64(len(text)))
	_, _ = i.digest.WriteString(text)
}

func (i *snapshotHash) addBytes(bytes []byte) {
	i.addNumber(uint64(len(bytes)))
	_, _ = i.digest.Write(bytes)
}

func (i *snapshotHash) addBool(yes bool) {
	if yes {
		i.addNumber(1)
	} else {
		i.addNumber(0)
	}
}

func (i *snapshotHash) addNumber(number uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], number)
	_, _ = i.digest.Write(bytes[:])
}
