// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"math"
	"runtime"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
)

// BenchmarkQuietSync is a whole sync of a parent with ten children that finds nothing to do, the
// call of the hook and the hook's own work included.
func BenchmarkQuietSync(b *testing.B) {
	c := controllerOfTen(b, hookOfTen(b))
	b.ReportAllocs()
	for b.Loop() {
		if result := c.sync(b.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.Done(0) {
			b.Fatal(result, c.Health().LastError)
		}
	}
}

// A quiet sync leaves to the garbage collector neither its request of 25 KB nor the response of 10 KB,
// nor a copy of them; the hook's own work is included. The smallest number of many syncs counts:
// buffers may be lost, and the race detector loses some on purpose.
func TestAQuietSyncLeavesLittleGarbage(t *testing.T) {
	const syncs, most = 400, 12 << 10
	c := controllerOfTen(t, hookOfTen(t))
	least := uint64(math.MaxUint64)
	for range syncs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.Done(0) {
			t.Fatal(result, c.Health().LastError)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > most {
		t.Errorf("a quiet sync leaves %d bytes, want at most %d", least, most)
	}
}
