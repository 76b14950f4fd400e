// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// CompositeInputs returns the hash of what the plan for a CompositeController's parent depends on, apart
// from the hook's answer. As long as both stay, so does the plan. The hash leaves out what changes
// no plan, which is what others write on the parent, such as its annotations.
func CompositeInputs(snapshot *pipeline.Snapshot) uint64 {
	h := snapshotHash{}
	h.addSnapshot(snapshot)
	h.addNumber(uint64(snapshot.Parent.Generation))
	if snapshot.Selector != nil {
		h.addText(snapshot.Selector.String())
	}
	return h.digest.Sum64()
}

// DecoratorInputs is CompositeInputs for a DecoratorController's target. The plan for a target also
// depends on its labels and annotations.
func DecoratorInputs(snapshot *pipeline.Snapshot) uint64 {
	h := snapshotHash{}
	h.addSnapshot(snapshot)
	h.addNumber(snapshot.Parent.Hash)
	return h.digest.Sum64()
}

// snapshotHash hashes what a plan depends on.
type snapshotHash struct{ digest xxhash.Digest }

// addSnapshot adds what the plans of both kinds depend on.
func (h *snapshotHash) addSnapshot(snapshot *pipeline.Snapshot) {
	h.digest.Reset()
	h.addNumber(snapshot.SchemasVersion)
	parent := snapshot.Parent
	h.addText(string(parent.UID))
	h.addBytes(parent.Lookup("status"))
	for _, value := range []bool{snapshot.Managed, snapshot.Finalizing, hasFinalizer(snapshot), parent.DeletionTimestamp != nil} {
		h.addBool(value)
	}
	for _, group := range snapshot.Children {
		h.addObjects(group.Claimed)
		h.addObjects(group.Kept)
		h.addObjects(group.Adopt)
		h.addObjects(group.Release)
	}
}

func (h *snapshotHash) addObjects(objects []*object.Object) {
	h.addNumber(uint64(len(objects)))
	for _, o := range objects {
		h.addText(string(o.UID))
		h.addText(o.ResourceVersion)
		// The same version may look different, for instance after a change of a conversion
		// webhook.
		h.addNumber(o.Hash)
	}
}

func (h *snapshotHash) addText(text string) {
	h.addNumber(uint64(len(text)))
	_, _ = h.digest.WriteString(text)
}

func (h *snapshotHash) addBytes(bytes []byte) {
	h.addNumber(uint64(len(bytes)))
	_, _ = h.digest.Write(bytes)
}

func (h *snapshotHash) addBool(value bool) {
	if value {
		h.addNumber(1)
	} else {
		h.addNumber(0)
	}
}

func (h *snapshotHash) addNumber(number uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], number)
	_, _ = h.digest.Write(bytes[:])
}
