// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// measureSoak changes one page after the other for a long time.
func measureSoak(ctx context.Context, b *bench) error {
	const sites, pagesPerSite, changesPerSecond = 300, 10, 50
	return withWorld(ctx, b, func(w *world) error {
		own := &ours{}
		return inPlace(ctx, w, own, sites, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}, func(ctx context.Context) error {
			defer b.profile(ctx, w, own, "soak")()
			ticker := time.NewTicker(time.Second / changesPerSecond)
			defer ticker.Stop()
			soak := &soak{world: w, changes: int(b.soak.Seconds() * changesPerSecond), sites: sites}
			for i := range soak.changes {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					soak.group.Wait()
					return context.Cause(ctx)
				}
				soak.change(ctx, i)
				if i%changesPerSecond == 0 {
					soak.look()
				}
			}
			soak.group.Wait()
			if soak.err != nil {
				return soak.err
			}
			p99 := quantile(soak.took, 0.99)
			b.row(row{
				scenario: fmt.Sprintf("50 changes/s for %s", b.soak), figure: "p99 event to applied",
				ours: milliseconds(p99), value: p99, bound: 1000,
				verdict: fmt.Sprintf("%s, p50 %s", milliseconds(p99), milliseconds(quantile(soak.took, 0.5))), must: "≤ 1 s",
			})
			before, after := soak.growth()
			b.row(row{
				scenario: fmt.Sprintf("50 changes/s for %s", b.soak), figure: "RSS in the second tenth of the time, and in the last",
				ours: mebibytes(before) + ", " + mebibytes(after), value: after / before, bound: 1.05, verdict: fmt.Sprintf("%+.1f %%", (after/before-1)*100), must: "none, ± 5 %",
			})
			return nil
		})
	})
}

// soak is what a long time of changes has shown.
type soak struct {
	world   *world
	changes int
	sites   int

	group    sync.WaitGroup
	mu       sync.Mutex
	err      error
	took     []float64 // ms
	resident []float64 // MiB, once a second
}

// change changes the first page of a site and waits in the background until it has followed.
func (s *soak) change(ctx context.Context, number int) {
	name, front := siteName(number%s.sites), strconv.Itoa(number)
	begin := time.Now()
	s.group.Go(func() {
		err := s.world.patchSite(ctx, name, fmt.Sprintf(`{"spec":{"front":%q}}`, front))
		var end time.Time
		if err == nil {
			end, err = s.world.pages.when(ctx, func(seen *pages) bool {
				now, err := strconv.Atoi(seen.fronts[site.PageName(name, 0)])
				return err == nil && now >= number // a later change may have come with it
			})
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.err = err
			return
		}
		s.took = append(s.took, end.Sub(begin).Seconds()*1000)
	})
}

// look notes what the server occupies.
func (s *soak) look() {
	usage, err := s.world.env.Usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = err
	}
	s.resident = append(s.resident, float64(usage.Resident)/(1<<20))
}

// growth is the median of the memory in the second tenth of the time, when caches are warm, and in the last.
func (s *soak) growth() (before, after float64) {
	tenth := max(len(s.resident)/10, 1)
	return quantile(s.resident[tenth:2*tenth], 0.5), quantile(s.resident[len(s.resident)-tenth:], 0.5)
}
