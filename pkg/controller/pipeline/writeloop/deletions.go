// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"maps"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// deletions are the children that a controller has deleted because it does not want them. Another
// controller may create them again and again.
type deletions map[object.Key]deletion

// deletion is how many times in a row a child was deleted, each within calm after the last time.
type deletion struct {
	times int
	last  time.Time
}

func (d *deletions) add(child object.Key, now time.Time) {
	before := (*d)[child]
	if before.isOver(now) {
		before.times = 0
	}
	if *d == nil {
		*d = deletions{}
	}
	(*d)[child] = deletion{before.times + 1, now}
}

// forget drops the children that were deleted long ago.
func (d *deletions) forget(now time.Time) {
	maps.DeleteFunc(*d, func(_ object.Key, last deletion) bool { return last.isOver(now) })
	if len(*d) == 0 {
		*d = nil // a map does not shrink
	}
}

func (d deletion) isOver(now time.Time) bool { return now.Sub(d.last) > calm }
