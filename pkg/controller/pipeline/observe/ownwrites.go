// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// OwnWrites are the writes of one parent's syncs that the caches may not show yet. Until they do, a sync would
// decide on stale objects. The zero value is empty. It is not safe for concurrent use.
type OwnWrites struct {
	writes []ownWrite
}

// ownWrite has the data that identifies a write in a cache. It does not keep the written object: when many parents are
// new, a long time passes before their next syncs, and all written objects would stay in memory for that time.
type ownWrite struct {
	view *cache.View // shows the object
	op   pipeline.Op
	name types.NamespacedName
	// version is the resource version that the host stored; empty if it stored nothing.
	version string
	// rewinds is View.Rewinds at the time of the write.
	rewinds int
	// observed is the UID of the object before the write, or empty if the object did not exist.
	observed types.UID
	// removes is true if the write made the host remove the object.
	removes bool
}

// Wrote adds the outcomes of a sync to writes.
func (o *Observer) Wrote(writes *OwnWrites, outcomes []pipeline.Outcome) {
	for i := range outcomes {
		outcome := &outcomes[i]
		view := o.viewOf(outcome.Type.GroupVersionResource)
		if view == nil || outcome.Err != nil || outcome.Conflict {
			continue
		}
		write := ownWrite{view: view, rewinds: view.Rewinds(), op: outcome.Op, name: outcome.Key().NamespacedName}
		if outcome.Observed != nil {
			write.name, write.observed = outcome.Observed.Key(), outcome.Observed.UID
		}
		if outcome.Result != nil || outcome.Op.OnParent() {
			// The parent may have been read again, and so be newer than the cache, even if nothing was left to write.
			write.version = outcome.Latest().ResourceVersion
		}
		write.removes = outcome.Removed()
		writes.writes = append(writes.writes, write)
	}
}

// viewOf returns the view that shows written objects of a type; nil if there is none. If both parents and
// children are of the type, it returns the view of the children, because the view of the parents may show only
// some objects.
func (o *Observer) viewOf(resource schema.GroupVersionResource) *cache.View {
	i := slices.IndexFunc(o.Children, func(view *cache.View) bool { return view.Type.GroupVersionResource == resource })
	if i >= 0 {
		return o.Children[i]
	}
	for _, target := range o.Targets {
		if target.View.Type.GroupVersionResource == resource {
			return target.View
		}
	}
	return nil
}

// DropSeen drops the writes that the caches show. It reports whether none is left.
func (w *OwnWrites) DropSeen() bool {
	w.writes = slices.DeleteFunc(w.writes, ownWrite.seen)
	if len(w.writes) == 0 {
		w.writes = nil
	}
	return w.writes == nil
}

// Unseen returns an error about a write that the caches do not show yet, with the reason if that is known. It returns
// nil if they show all writes.
func (w *OwnWrites) Unseen() error {
	if len(w.writes) == 0 {
		return nil
	}
	first := w.writes[0]
	why := first.view.WatchError()
	if why == nil {
		why = errors.New("the watch has not sent it yet")
	}
	of := object.Key{GroupKind: first.view.Type.GroupKind(), NamespacedName: first.name}
	return fmt.Errorf(
		"the server wrote %s (%s), and the watch of %s does not show the write: %w", of, first.op, first.view.Type, why)
}

// seen reports whether the cache shows the write or a later one.
func (w ownWrite) seen() bool {
	cached := w.view.Get(w.name)
	switch {
	case w.observed != "" && cached == nil:
		return true // gone, whatever was written
	case w.removes:
		return cached.UID != w.observed
	case w.version != "":
		return w.view.Seen(w.version) || w.view.Rewinds() != w.rewinds
	case w.op.Deletes():
		return cached == nil || cached.UID != w.observed || cached.DeletionTimestamp != nil
	default:
		return true
	}
}
