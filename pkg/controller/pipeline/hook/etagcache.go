// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// maxETagCacheBytes limits the answers in the ETag caches of all hooks together. Each cache has an equal share, and
	// drops its oldest answers if it has more.
	maxETagCacheBytes = 64 << 20
	// maxETagBytes limits the length of an ETag. An answer with a longer one is not cached.
	maxETagBytes = 4 << 10
	// cachedAnswerBytes estimates the bytes that a cached answer takes in addition to its body and its ETag.
	cachedAnswerBytes = 256
)

// etagCache has, for each parent, the last answer that came with an ETag. Every call drops the answers that are too
// old, so no goroutine has to clean up. A nil cache is always empty.
type etagCache struct {
	// timeout is the time for which an answer is kept. If it is zero, answers are kept as long as there is room.
	timeout time.Duration
	// max returns the limit of the size of all answers in bytes.
	max func() int

	// leave removes the cache from the count of caches.
	leave func()

	mu       sync.Mutex
	byParent map[types.UID]*list.Element
	// oldestFirst has the answers in the order in which they were received.
	oldestFirst list.List
	size        int
}

// cachedAnswer is the last answer about a parent.
type cachedAnswer struct {
	parent types.UID
	etag   string
	body   []byte
	// err is the error of an inline hook, which has no answer.
	err      error
	received time.Time
}

func (a *cachedAnswer) size() int {
	size := len(a.body)
	if a.err != nil {
		size = len(a.err.Error())
	}
	return size + len(a.etag) + len(a.parent) + cachedAnswerBytes
}

// etagCaches counts the caches of a process.
type etagCaches struct{ count atomic.Int64 }

// share returns how many bytes each cache may have.
func (c *etagCaches) share() int { return maxETagCacheBytes / int(max(c.count.Load(), 1)) }

// newETagCache returns the cache that a spec asks for, or nil if it asks for none. The caller must close it.
func newETagCache(spec *v1alpha1.WebhookEtagConfig, caches *etagCaches) *etagCache {
	if spec == nil || spec.Enabled == nil || !*spec.Enabled {
		return nil
	}
	caches.count.Add(1)
	made := &etagCache{max: caches.share, byParent: map[types.UID]*list.Element{}}
	made.leave = sync.OnceFunc(func() { caches.count.Add(-1) })
	if seconds := spec.CacheTimeoutSeconds; seconds != nil && *seconds > 0 {
		made.timeout = time.Duration(*seconds) * time.Second
	}
	return made
}

// get returns the answer about a parent. The ETag is empty if there is none.
func (c *etagCache) get(parent types.UID, now time.Time) cachedAnswer {
	if c == nil {
		return cachedAnswer{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune(now)
	if known := c.byParent[parent]; known != nil {
		return known.Value.(cachedAnswer)
	}
	return cachedAnswer{}
}

// put replaces the answer, or the error in place of one, about a parent.
func (c *etagCache) put(parent types.UID, etag string, body []byte, err error, now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.drop(parent)
	answer := cachedAnswer{parent: parent, etag: etag, body: body, err: err, received: now}
	if answer.size() > c.max() {
		return // the answer cannot fit, and the others stay
	}
	if answer.body = old.body; !bytes.Equal(old.body, body) {
		answer.body = bytes.Clone(body) // its buffer may be much larger
	}
	c.byParent[parent] = c.oldestFirst.PushBack(answer)
	c.size += answer.size()
	c.prune(now)
}

// forget drops the answer about a parent.
func (c *etagCache) forget(parent types.UID) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(parent)
}

// close ends the use of the cache.
func (c *etagCache) close() {
	if c != nil {
		c.leave()
	}
}

// prune drops the answers that are too old or do not fit.
func (c *etagCache) prune(now time.Time) {
	for oldest := c.oldestFirst.Front(); oldest != nil; oldest = c.oldestFirst.Front() {
		kept := oldest.Value.(cachedAnswer)
		timedOut := c.timeout > 0 && now.Sub(kept.received) >= c.timeout
		if !timedOut && c.size <= c.max() {
			return
		}
		c.drop(kept.parent)
	}
}

func (c *etagCache) drop(parent types.UID) (dropped cachedAnswer) {
	known := c.byParent[parent]
	if known == nil {
		return cachedAnswer{}
	}
	delete(c.byParent, parent)
	dropped = c.oldestFirst.Remove(known).(cachedAnswer)
	c.size -= dropped.size()
	return dropped
}
