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

// The server's own data takes some dozens of megabytes full of pointers, which are slow to scan.
// Its caches of the host are bytes, which need no scan. So the collector waits until the heap has
// smallHeap bytes, which is seldom the case while little is cached. A larger heap may have
// leastGarbage bytes of garbage, and a share of the bytes in use.
const (
	smallHeap    = 128 << 20
	leastGarbage = 32 << 20
	garbageShare = 16 // a sixteenth
)

// goMemoryVariables are the environment variables that tune Go's collector. If one is set, the
// server does not tune it.
var goMemoryVariables = [...]string{"GOGC", "GOMEMLIMIT"}

// gcPercent returns the setting of the garbage collector for a heap with inUse bytes in use.
func gcPercent(inUse uint64) int {
	const most = 400 // of a heap that has just begun to grow
	inUse = max(inUse, 1)
	garbage := max(smallHeap-min(inUse, smallHeap), leastGarbage+inUse/garbageShare)
	return int(min(100*garbage/inUse, most))
}

// restAfter is the time without a collection after which unused memory is returned to the system.
// Go itself keeps most of the memory that a busy time needed.
const restAfter = 10 * time.Second

// tuneHeap tunes the garbage collector by these rules until stop is called. It returns unused
// memory to the system after restAfter without a collection.
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

// heapTuner sets the garbage collector anew after each collection.
type heapTuner struct {
	restAfter time.Duration

	mu      sync.Mutex
	percent int
	rest    *time.Timer
	given   uint64 // collections when memory was given back
	stopped bool
}

// awaitCollection makes the runtime call tune after the next collection, which finds the object
// below unused.
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
	if collections() > t.given {
		t.rest.Reset(t.restAfter)
	}
	percent := gcPercent(read("/gc/heap/live:bytes"))
	// Setting it stops the world for a moment.
	if difference := percent - t.percent; difference < -t.percent/20 || difference > t.percent/20 {
		t.percent = percent
		debug.SetGCPercent(percent)
	}
}

// giveBack returns unused memory to the system and lets go of the pages of files.
func (t *heapTuner) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	runtime.GC() // a sync.Pool keeps its objects for one collection more
	debug.FreeOSMemory()
	unmapFiles()
	t.given = collections()
}

// collections returns how many collections have ended.
func collections() uint64 { return read("/gc/cycles/total:gc-cycles") }

func read(metric string) uint64 {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
