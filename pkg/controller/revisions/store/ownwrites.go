// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// OwnWrites are the writes of one parent's syncs that the informer may not show yet. The zero
// value has none. It is not safe for concurrent use.
type OwnWrites struct{ writes []ownWrite }

// ownWrite is how a write is recognized in the informer. It does not keep the revision, which is
// as large as what it records of its parent, because the parent's next sync may be far away.
type ownWrite struct {
	name cache.ObjectName
	// version is the resource version that was written; empty for a deletion.
	version string
	// deleted is the UID of the deleted revision; empty if it was not deleted.
	deleted types.UID
}

// add adds a write. The revision is as the API has stored it or, of a deletion, as it was.
func (w *OwnWrites) add(op pipeline.Op, revision *v1alpha1.ControllerRevision) {
	write := ownWrite{name: cache.MetaObjectToName(revision)}
	if op == pipeline.Delete {
		write.deleted = revision.UID
	} else {
		write.version = revision.ResourceVersion
	}
	w.writes = append(w.writes, write)
}

// DropSeen drops the writes that the informer shows. It reports whether none is left.
func (s *Store) DropSeen(writes *OwnWrites) bool {
	writes.writes = slices.DeleteFunc(writes.writes, s.shows)
	if len(writes.writes) == 0 {
		writes.writes = nil
	}
	return writes.writes == nil
}

// shows reports whether the informer shows the write or a later one.
func (s *Store) shows(write ownWrite) bool {
	if write.deleted == "" {
		order, err := resourceversion.CompareResourceVersion(s.cache.GetIndexer().LastStoreSyncResourceVersion(), write.version)
		return err != nil || order >= 0
	}
	object, there, err := s.cache.GetIndexer().GetByKey(write.name.String())
	if err != nil || !there {
		return true
	}
	shown := object.(*v1alpha1.ControllerRevision)
	return shown.UID != write.deleted || shown.DeletionTimestamp != nil
}
