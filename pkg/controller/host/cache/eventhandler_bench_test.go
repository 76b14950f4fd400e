// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// BenchmarkAChangeBesideManySubscribers is one change of an object of a type that hundreds of controllers have
// children of, until all whom it concerns have been told.
func BenchmarkAChangeBesideManySubscribers(b *testing.B) {
	const subscribers = 500
	for _, concerned := range []int{1, subscribers} {
		b.Run(fmt.Sprint(concerned, " concerned"), func(b *testing.B) {
			fake, client := newFakeHost(b)
			watches := NewInformers(b.Context(), client, 0)
			told := make(chan struct{}, subscribers)
			var watch *View
			for i := range subscribers {
				watch = watches.Acquire(things)
				defer watches.Release(watch)
				concern := func(_, _ *object.Object) bool { return i < concerned }
				if _, err := watch.AddFilteredHandler(concern, func(_, _ *object.Object) { told <- struct{}{} }); err != nil {
					b.Fatal(err)
				}
			}
			fake.sendListed("5")
			if err := watch.WaitForSync(b.Context()); err != nil {
				b.Fatal(err)
			}
			version := 5
			b.ReportAllocs()
			for b.Loop() {
				version++
				changed := &object.Object{}
				changed.Name, changed.ResourceVersion = "a", strconv.Itoa(version)
				if err := watch.informer.current.Update(changed); err != nil {
					b.Fatal(err)
				}
				for range concerned {
					<-told
				}
			}
		})
	}
}
