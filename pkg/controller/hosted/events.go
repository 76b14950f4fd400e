// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// eventDeduplicator is what the last event of a sort about a parent said. The retries that fail alike
// are not worth one each: they would use up the events a parent may have, and the
// next error would go unheard.
type eventDeduplicator struct {
	message uint64 // its hash
	at      int64  // in seconds since 1970
}

// markIfDue tells whether an event with the message is due.
func (t *eventDeduplicator) markIfDue(message string, now time.Time) bool {
	this := eventDeduplicator{message: xxhash.Sum64String(message), at: now.Unix()}
	since := this.at - t.at // less than nothing where somebody has put the clock back
	if this.message == t.message && since >= 0 && since < int64(pipeline.EventRepeatInterval.Seconds()) {
		return false
	}
	*t = this
	return true
}

// reportDuplicates has an event written about children that the hook lists more than once.
func (c *Controller) reportDuplicates(state *parentState, snapshot *pipeline.Snapshot, planned *pipeline.Plan) {
	if found := planned.Duplicates; len(found) > 0 && state.duplicateEvents.markIfDue(strings.Join(found, "\n"), time.Now()) {
		c.Events.DuplicateChildren(snapshot.Parent, found)
	}
}

// reportNameConflicts has an event written about the children whose names somebody else has: one about
// all of them, which retries that find the same do not repeat.
func (c *Controller) reportNameConflicts(state *parentState, parent *object.Object, names []pipeline.Key) {
	children := keyNames(names)
	if len(children) > 0 && state.nameConflictEvents.markIfDue(strings.Join(children, "\n"), time.Now()) {
		c.Events.NameConflict(parent, children)
	}
}

// reportWriteLoops has an event written about loops of a parent, if there are any.
func (c *Controller) reportWriteLoops(parent *object.Object, news []pipeline.WriteLoop, now time.Time) {
	if len(news) > 0 {
		c.addRivals(news)
		c.Events.WriteLoop(parent, news, now)
	}
}

// addRivals puts into loops who takes part in them, where that is known.
func (c *Controller) addRivals(loops []pipeline.WriteLoop) {
	for i := range loops {
		loops[i].Rivals = c.Guards.Rivals(c.guard, loops[i])
	}
}
