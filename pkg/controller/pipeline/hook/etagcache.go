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

// maxAnswers is how many bytes of answers one hook's ETag cache holds at most. Where that
// is not enough, the oldest go and have to be sent again.
const maxAnswers = 64 << 20

// answers is the ETag cache of a hook: the last answer about each parent that came with
// an ETag. It needs nobody to clean it: what is too old goes when the next one comes. A
// nil one holds nothing.
type answers struct {
	// timeout is how long an answer is kept; zero is as long as there is room.
	timeout time.Duration
	max     int

	mu       sync.Mutex
	byParent map[types.UID]*list.Element
	// oldestFirst is the answers in the order in which they came.
	oldestFirst list.List
	size        int
}

// keptAnswer is one answer about a parent.
type keptAnswer struct {
	parent types.UID
	etag   string
	body   []byte
	came   time.Time
}

// newAnswers makes the cache that a spec asks for, nil if it asks for none.
func newAnswers(spec *v1alpha1.WebhookEtagConfig) *answers {
	if spec == nil || spec.Enabled == nil || !*spec.Enabled {
		return nil
	}
	made := &answers{max: maxAnswers, byParent: map[types.UID]*list.Element{}}
	if seconds := spec.CacheTimeoutSeconds; seconds != nil && *seconds > 0 {
		made.timeout = time.Duration(*seconds) * time.Second
	}
	return made
}

// get returns the answer about a parent; one without an etag if there is none.
func (a *answers) get(parent types.UID, now time.Time) keptAnswer {
	if a == nil {
		return keptAnswer{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prune(now)
	if known := a.byParent[parent]; known != nil {
		return known.Value.(keptAnswer)
	}
	return keptAnswer{}
}

// put keeps an answer about a parent instead of the one before.
func (a *answers) put(parent types.UID, etag string, body []byte, now time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(parent)
	if len(body) > a.max {
		return // and leave the others be
	}
	// What was read may lie in a larger piece of memory.
	a.byParent[parent] = a.oldestFirst.PushBack(keptAnswer{parent: parent, etag: etag, body: bytes.Clone(body), came: now})
	a.size += len(body)
	a.prune(now)
}

// forget drops the answer about a parent.
func (a *answers) forget(parent types.UID) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(parent)
}

// prune drops what is too old, and what there is no room for.
func (a *answers) prune(now time.Time) {
	for oldest := a.oldestFirst.Front(); oldest != nil; oldest = a.oldestFirst.Front() {
		kept := oldest.Value.(keptAnswer)
		timedOut := a.timeout > 0 && now.Sub(kept.came) >= a.timeout
		if !timedOut && a.size <= a.max {
			return
		}
		a.drop(kept.parent)
	}
}

func (a *answers) drop(parent types.UID) {
	known := a.byParent[parent]
	if known == nil {
		return
	}
	delete(a.byParent, parent)
	a.size -= len(a.oldestFirst.Remove(known).(keptAnswer).body)
}
