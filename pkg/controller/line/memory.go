// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/rollout"
)

// memory is what one sync of a parent leaves to the next. Only the worker that
// syncs the parent uses it.
type memory struct {
	// uid is whose memory it is; empty before the first sync.
	uid     types.UID
	pending observe.Pending
	// awaits is since when the caches have not shown the last writes; zero if they have.
	awaits  time.Time
	settled plan.Settled
	rest    resting
	related related.Answer
	// earlier are what related is about earlier versions of the parent, by the names of
	// their revisions.
	earlier   map[string]*related.Answer
	revisions revisions.Pending
	versions  rollout.Known
	rollout   rolloutNews
	// told is about the last error, taken about the children whose names are taken,
	// duplicates about the children that were last listed twice.
	told, taken, duplicates told
}

// keepEarlier has earlier hold an answer about each of the revisions, and returns those that
// are about none of them.
func (m *memory) keepEarlier(revisions []*rollout.Revision) (gone []*related.Answer) {
	kept := make(map[string]*related.Answer, len(revisions))
	for _, revision := range revisions {
		kept[revision.Name] = cmp.Or(m.earlier[revision.Name], &related.Answer{})
		delete(m.earlier, revision.Name)
	}
	gone = slices.Collect(maps.Values(m.earlier))
	m.earlier = kept
	return gone
}

// answers are those of the customize hook.
func (m *memory) answers() []*related.Answer {
	return append(slices.Collect(maps.Values(m.earlier)), &m.related)
}

// told is what the last event of a sort about a parent said. The retries that fail alike
// are not worth one each: they would use up the events a parent may have, and the
// next error would go unheard.
type told struct {
	message string
	at      time.Time
}

// tellAgainAfter is how long the same goes on without another event.
const tellAgainAfter = 5 * time.Minute

// news tells whether an event with the message is due.
func (t *told) news(message string, now time.Time) bool {
	if message != t.message || now.Sub(t.at) >= tellAgainAfter {
		*t = told{message: message, at: now}
		return true
	}
	return false
}
