// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// maxETagCacheBytes is how many bytes of answers one hook's ETag cache holds at most. Where that
// is not enough, the oldest go and have to be sent again.
const maxETagCacheBytes = 64 << 20

// etagCache is the ETag cache of a hook: the last answer about each parent that came with
// an ETag. It needs nobody to clean it: what is too old goes when the next one comes. A
// nil one holds nothing.
type etagCache struct {
	// timeout is how long an answer is kept; zero is as long as there is room.
	timeout time.Duration
	max     int

	mu       sync.Mutex
	byParent map[types.UID]*list.Element
	// oldestFirst is the answers in the order in which they came.
	oldestFirst list.List
	size        int
}

// cachedAnswer is one answer about a parent.
type cachedAnswer struct {
	parent   types.UID
	etag     string
	body     []byte
	received time.Time
}

// newETagCache makes the cache that a spec asks for, nil if it asks for none.
func newETagCache(spec *v1alpha1.WebhookEtagConfig) *etagCache {
	if spec == nil || spec.Enabled == nil || !*spec.Enabled {
		return nil
	}
	made := &etagCache{max: maxETagCacheBytes, byParent: map[types.UID]*list.Element{}}
	if seconds := spec.CacheTimeoutSeconds; seconds != nil && *seconds > 0 {
		made.timeout = time.Duration(*seconds) * time.Second
	}
	return made
}

// get returns the answer about a parent; one without an etag if there is none.
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

// put keeps an answer about a parent instead of the one before.
func (c *etagCache) put(parent types.UID, etag string, body []byte, now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(parent)
	if len(body) > c.max {
		return // and leave the others be
	}
	// What was read may lie in a larger piece of memory.
	c.byParent[parent] = c.oldestFirst.PushBack(cachedAnswer{parent: parent, etag: etag, body: bytes.Clone(body), received: now})
	c.size += len(body)
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

// prune drops what is too old, and what there is no room for.
func (c *etagCache) prune(now time.Time) {
	for oldest := c.oldestFirst.Front(); oldest != nil; oldest = c.oldestFirst.Front() {
		kept := oldest.Value.(cachedAnswer)
		timedOut := c.timeout > 0 && now.Sub(kept.received) >= c.timeout
		if !timedOut && c.size <= c.max {
			return
		}
		c.drop(kept.parent)
	}
}

func (c *etagCache) drop(parent types.UID) {
	known := c.byParent[parent]
	if known == nil {
		return
	}
	delete(c.byParent, parent)
	c.size -= len(c.oldestFirst.Remove(known).(cachedAnswer).body)
}
