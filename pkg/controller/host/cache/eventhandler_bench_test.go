// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// BenchmarkAChangeBesideManySubscribers measures one change of an object of a child type
// of hundreds of controllers, until all handlers whose filter it passes have been
// called.
func BenchmarkAChangeBesideManySubscribers(b *testing.B) {
	const subscribers = 500
	for _, concerned := range []int{1, subscribers} {
		b.Run(fmt.Sprint(concerned, " concerned"), func(b *testing.B) {
			fake, client := newFakeHost(b)
			informers := NewInformers(b.Context(), client, 0)
			reported := make(chan struct{}, subscribers)
			var view *View
			for i := range subscribers {
				view = informers.Acquire(things)
				defer informers.Release(view)
				concern := func(_, _ *object.Object) bool { return i < concerned }
				if _, err := view.AddFilteredHandler(concern, func(_, _ *object.Object) { reported <- struct{}{} }); err != nil {
					b.Fatal(err)
				}
			}
			fake.sendListed("5")
			if err := view.WaitForSync(b.Context()); err != nil {
				b.Fatal(err)
			}
			version := 5
			b.ReportAllocs()
			for b.Loop() {
				version++
				changed := &object.Object{}
				changed.Name, changed.ResourceVersion = "a", strconv.Itoa(version)
				if err := view.informer.current.Update(changed); err != nil {
					b.Fatal(err)
				}
				for range concerned {
					<-reported
				}
			}
		})
	}
}
