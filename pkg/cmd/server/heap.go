// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// What the server itself holds is some dozens of megabytes full of pointers, which take long to follow. What it caches of
// the host is bytes, which take no time. So garbage is collected when the heap has so many bytes, which is seldom as long
// as little is cached; a larger heap may have this much garbage and a share of what is in use.
const (
	smallHeap    = 128 << 20
	leastGarbage = 32 << 20
	garbageShare = 16 // a sixteenth
)

// goMemoryVariables are how an operator tells Go itself when to collect. Then nothing else does.
var goMemoryVariables = [...]string{"GOGC", "GOMEMLIMIT"}

// gcPercent is the setting of the garbage collector for a heap with so many bytes in use.
func gcPercent(inUse uint64) int {
	const most = 400 // of a heap that has just begun to grow
	inUse = max(inUse, 1)
	garbage := max(smallHeap-min(inUse, smallHeap), leastGarbage+inUse/garbageShare)
	return int(min(100*garbage/inUse, most))
}

// restAfter is how long there is no collection before memory that is not in use is given back to the system. Go itself
// keeps most of what a busy time has taken.
const restAfter = 10 * time.Second

// tuneHeap keeps the garbage collector to these rules until stop is called. Memory is given back after a rest of that length.
func tuneHeap(restAfter time.Duration) (stop func()) {
	if slices.ContainsFunc(goMemoryVariables[:], func(name string) bool { return os.Getenv(name) != "" }) {
		return func() {}
	}
	t := &heapTuner{percent: gcPercent(0), restAfter: restAfter}
	before := debug.SetGCPercent(t.percent)
	t.rest = time.AfterFunc(restAfter, t.giveBack)
	t.awaitCollection()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stopped = true
		t.rest.Stop()
		debug.SetGCPercent(before)
	}
}

// heapTuner is called by the runtime after each collection.
type heapTuner struct {
	restAfter time.Duration

	mu      sync.Mutex
	percent int
	rest    *time.Timer
	resting bool // the collection that comes is the one of giveBack
	stopped bool
}

// awaitCollection has tune called after the next collection, which finds that nobody uses this object.
func (t *heapTuner) awaitCollection() {
	runtime.AddCleanup(&struct{ unused *heapTuner }{}, (*heapTuner).tune, t)
}

func (t *heapTuner) tune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	defer t.awaitCollection()
	if !t.resting {
		t.rest.Reset(t.restAfter)
	}
	t.resting = false
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := gcPercent(live[0].Value.Uint64())
	// To set it stops the world for a moment.
	if difference := percent - t.percent; difference < -t.percent/20 || difference > t.percent/20 {
		t.percent = percent
		debug.SetGCPercent(percent)
	}
}

// giveBack gives memory back to the system, for which it makes a collection.
func (t *heapTuner) giveBack() {
	t.mu.Lock()
	stopped := t.stopped
	t.resting = true
	t.mu.Unlock()
	if !stopped {
		debug.FreeOSMemory()
	}
}
