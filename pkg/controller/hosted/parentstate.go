// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// memory is what one sync of a parent leaves to the next. Only the worker that
// syncs the parent uses it. There are as many as parents, so what few of them need is apart.
type memory struct {
	// uid is whose memory it is; empty before the first sync.
	uid     types.UID
	pending observe.Pending
	// awaits is since when the caches have not shown the last writes; zero if they have.
	awaits  time.Time
	settled plan.UpToDateCache
	rest    resting
	// related is the customize hook's answer; nil if there is no such hook.
	related *related.Answer
	// rolling is about the rollout of the parent's children; nil if its controller rolls nothing.
	rolling *rolling
	// told is about the last error, taken about the children whose names are taken,
	// duplicates about the children that were last listed twice.
	told, taken, duplicates told
}

// rolling is what is remembered of a rollout.
type rolling struct {
	revisions revisions.Pending
	versions  rollout.Known
	news      rolloutNews
	// earlier are what related is about earlier versions of the parent, by the names of
	// their revisions.
	earlier map[string]*related.Answer
}

// rolls returns what is remembered of the rollout, which is nothing at first.
func (m *memory) rolls() *rolling {
	if m.rolling == nil {
		m.rolling = &rolling{}
	}
	return m.rolling
}

// keepEarlier has earlier hold an answer about each of the revisions, and returns those that
// are about none of them.
func (r *rolling) keepEarlier(revisions []*rollout.Revision) (gone []*related.Answer) {
	kept := make(map[string]*related.Answer, len(revisions))
	for _, revision := range revisions {
		kept[revision.Name] = cmp.Or(r.earlier[revision.Name], &related.Answer{})
		delete(r.earlier, revision.Name)
	}
	gone = slices.Collect(maps.Values(r.earlier))
	r.earlier = kept
	return gone
}

// answers are those of the customize hook.
func (m *memory) answers() (all []*related.Answer) {
	if m.related != nil {
		all = append(all, m.related)
	}
	if m.rolling != nil {
		all = slices.AppendSeq(all, maps.Values(m.rolling.earlier))
	}
	return all
}

// told is what the last event of a sort about a parent said. The retries that fail alike
// are not worth one each: they would use up the events a parent may have, and the
// next error would go unheard.
type told struct {
	message uint64 // its hash
	at      int64  // in seconds since 1970
}

// tellAgainAfter is how long the same goes on without another event.
const tellAgainAfter = 5 * time.Minute

// news tells whether an event with the message is due.
func (t *told) news(message string, now time.Time) bool {
	this := told{message: xxhash.Sum64String(message), at: now.Unix()}
	since := this.at - t.at // less than nothing where somebody has put the clock back
	if this.message == t.message && since >= 0 && since < int64(tellAgainAfter.Seconds()) {
		return false
	}
	*t = this
	return true
}
