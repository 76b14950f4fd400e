// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"
)

func BenchmarkAssign(b *testing.B) {
	alive := make([]string, 10)
	for i := range alive {
		alive[i] = fmt.Sprint("replica-", i)
	}
	units := make([]Unit, 1000)
	for i := range units {
		units[i] = Unit{ID: fmt.Sprint("CompositeController/", i), Weight: 1 + i%100, Runner: alive[i%len(alive)]}
	}
	free := make([]Unit, len(units))
	for i, unit := range units {
		unit.Runner = ""
		free[i] = unit
	}
	for name, units := range map[string][]Unit{"all run": units, "none runs": free} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Assign(alive, alive, units)
			}
		})
	}
}
