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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Pending are writes of one parent's syncs that the caches may not show yet. Until
// they do, a sync would decide on a state that is no more. The zero value is empty.
// It is not safe for concurrent use.
type Pending struct {
	writes []pendingWrite
}

// pendingWrite is what is to be seen of a write. When many parents are new, their next syncs are far away, and all that
// the writes were about would be in memory meanwhile.
type pendingWrite struct {
	watch *cache.View // shows it
	op    pipeline.Op
	name  types.NamespacedName
	// version is what the host made of it; empty if it stored nothing.
	version string
	// observed is what was there before; empty if nothing was.
	observed types.UID
}

// Wrote adds what a sync has written.
func (o *Observer) Wrote(pending *Pending, outcomes []pipeline.Outcome) {
	for i := range outcomes {
		outcome := &outcomes[i]
		watch := o.watchOf(outcome.Type.GroupVersionResource)
		if watch == nil || outcome.Err != nil || outcome.Conflict {
			continue
		}
		write := pendingWrite{watch: watch, op: outcome.Op, name: outcome.Key().NamespacedName}
		if outcome.Observed != nil {
			write.name, write.observed = outcome.Observed.Key(), outcome.Observed.UID
		}
		if outcome.Result != nil {
			write.version = outcome.Result.ResourceVersion
		}
		pending.writes = append(pending.writes, write)
	}
}

// watchOf returns the watch that shows what is written. Of a type of both children and
// parents that is the children's: the other may show only some of the objects.
func (o *Observer) watchOf(resource schema.GroupVersionResource) *cache.View {
	i := slices.IndexFunc(o.Children, func(watch *cache.View) bool { return watch.Type.GroupVersionResource == resource })
	if i >= 0 {
		return o.Children[i]
	}
	for _, target := range o.Targets {
		if target.Watch.Type.GroupVersionResource == resource {
			return target.Watch
		}
	}
	return nil
}

// Seen tells whether the caches show all writes, and forgets those they do.
func (p *Pending) Seen() bool {
	p.writes = slices.DeleteFunc(p.writes, pendingWrite.seen)
	if len(p.writes) == 0 {
		p.writes = nil
	}
	return p.writes == nil
}

// Unseen tells which write the caches have not shown, and why if that is known. It is nil if
// there is none.
func (p *Pending) Unseen() error {
	if len(p.writes) == 0 {
		return nil
	}
	first := p.writes[0]
	why := first.watch.WatchError()
	if why == nil {
		why = errors.New("the watch has not told of it")
	}
	of := pipeline.Key{GroupKind: first.watch.Type.GroupKind(), NamespacedName: first.name}
	return fmt.Errorf("%s was written (%s) and the watch of %s does not show that: %w", of, first.op, first.watch.Type, why)
}

func (w pendingWrite) seen() bool {
	switch {
	case w.observed != "" && w.watch.Get(w.name) == nil:
		return true // gone, whatever was written
	case w.version != "":
		return w.watch.Seen(w.version)
	case w.op == pipeline.Delete || w.op == pipeline.Recreate:
		cached := w.watch.Get(w.name)
		return cached == nil || cached.UID != w.observed || cached.DeletionTimestamp != nil
	default:
		return true
	}
}
