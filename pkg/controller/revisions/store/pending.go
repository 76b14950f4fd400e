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

// Pending are writes of one parent's syncs that the cache may not show yet. The zero value
// is none. It is not safe for concurrent use.
type Pending struct{ writes []written }

// written is what is to be seen of a write. A revision is as large as what it keeps of its
// parent, whose next sync may be far away.
type written struct {
	name cache.ObjectName
	// version is what the API made of it; empty if that is nothing.
	version string
	// deleted is the UID of what was there; empty if it still is.
	deleted types.UID
}

// add has p wait for a write, which made a revision or deleted it.
func (p *Pending) add(op pipeline.Op, revision *v1alpha1.ControllerRevision) {
	write := written{name: cache.MetaObjectToName(revision)}
	if op == pipeline.Delete {
		write.deleted = revision.UID
	} else {
		write.version = revision.ResourceVersion
	}
	p.writes = append(p.writes, write)
}

// Seen tells whether the cache shows all writes, and forgets those it does.
func (s *Store) Seen(pending *Pending) bool {
	pending.writes = slices.DeleteFunc(pending.writes, s.shows)
	if len(pending.writes) == 0 {
		pending.writes = nil
	}
	return pending.writes == nil
}

func (s *Store) shows(write written) bool {
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
