// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for name, tc := range map[string]struct {
		inUse uint64
		want  int
	}{
		"of a process that starts":              {0, 400},
		"of a small heap lets it become larger": {32 * mebibyte, 300},
		"of a heap of half that size":           {64 * mebibyte, 100},
		"of a larger one":                       {128 * mebibyte, 31},
		"of a huge one":                         {1024 * mebibyte, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := gcPercent(tc.inUse); got != tc.want {
				t.Errorf("gcPercent(%d) = %d, want %d", tc.inUse, got, tc.want)
			}
		})
	}
}

// What the collector is set to concerns the whole process, so this test is not parallel.
func TestTheHeapIsTunedAsItGrows(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	stop := tuneHeap(restAfter)
	const size = 256 << 20
	held := make([]byte, size)
	for deadline := time.Now().Add(time.Minute); percent() > gcPercent(size); runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("with %d bytes in use, the percentage is %d, not %d", size, percent(), gcPercent(size))
		}
	}
	runtime.KeepAlive(held)
	stop()
	if percent := percent(); percent != 100 {
		t.Errorf("the percentage is %d after the end, it was 100 before", percent)
	}
}

func TestGivingBackReturnsWhatIsNotInUse(t *testing.T) {
	before := leaveGarbage()
	(&heapTuner{}).giveBack()
	if given := int64(released() - before); given < garbage*3/4 {
		t.Errorf("of %d bytes, %d are given back", garbage, given)
	}
}

func TestGivingBackReturnsWhatLiesInAPool(t *testing.T) {
	var pool sync.Pool
	collected := make(chan struct{})
	pooled := new([1 << 20]byte)
	runtime.AddCleanup(pooled, func(struct{}) { close(collected) }, struct{}{})
	pool.Put(pooled)
	(&heapTuner{}).giveBack()
	select {
	case <-collected:
	case <-time.After(time.Minute):
		t.Error("the pool still has its object")
	}
	runtime.KeepAlive(&pool)
}

func TestAfterGivingBackNothingIsGivenBackAgain(t *testing.T) {
	before := debug.SetGCPercent(-1) // no collection but those of giveBack
	defer debug.SetGCPercent(before)
	tuner := &heapTuner{restAfter: time.Hour, rest: time.AfterFunc(time.Hour, func() {})}
	tuner.rest.Stop()
	tuner.giveBack()
	tuner.tune()
	if tuner.rest.Stop() {
		t.Error("another rest begins, though nothing was collected but to give back")
	}
	runtime.GC()
	tuner.tune()
	if !tuner.rest.Stop() {
		t.Error("no rest begins after a collection")
	}
}

func TestMemoryIsGivenBackAfterARest(t *testing.T) {
	before := leaveGarbage()
	defer tuneHeap(time.Millisecond)()
	eventually(t, func() error { // without a collection before it
		if given := int64(released() - before); given < garbage*3/4 {
			return fmt.Errorf("of %d bytes, %d are given back", garbage, given)
		}
		return nil
	})
	before = metric("/gc/cycles/forced:gc-cycles")
	eventually(t, func() error {
		beBusy()
		if metric("/gc/cycles/forced:gc-cycles") == before {
			return errors.New("nothing is given back after a busy time")
		}
		return nil
	})
}

const garbage = 64 << 20

// leaveGarbage returns how much of the heap the system had when there was that much in use which is
// not in use any more.
func leaveGarbage() (before uint64) {
	busy := make([]byte, garbage)
	before = released()
	runtime.KeepAlive(busy)
	return before
}

// beBusy makes garbage until it is collected.
func beBusy() {
	const collections = "/gc/cycles/automatic:gc-cycles"
	for before := metric(collections); metric(collections) == before; {
		runtime.KeepAlive(make([]byte, 1<<20))
	}
}

// released is how much of the heap the system has.
func released() uint64 { return metric("/memory/classes/heap/released:bytes") }

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestWhoSetsGoVariablesDecides(t *testing.T) {
	before := percent()
	t.Setenv("GOGC", "70")
	defer tuneHeap(restAfter)()
	if now := percent(); now != before {
		t.Errorf("the percentage became %d, it was %d", now, before)
	}
}

// percent returns the present setting. It reads a metric: debug.SetGCPercent would replace the
// setting for a moment, and a setting made at that moment would be lost.
func percent() int { return int(metric("/gc/gogc:percent")) }
