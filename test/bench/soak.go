// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

const (
	changesPerSecond = 50
	// shortestSoak is how long a soak takes at least, whose tenths have each a look at the memory.
	shortestSoak = 10 * time.Second
)

// measureSoak changes one page after the other for a long time.
func measureSoak(ctx context.Context, b *bench) ([]row, error) {
	const sites, pagesPerSite = 300, 10
	s := &soak{sites: sites, changes: int(b.soak.Seconds() * changesPerSecond)}
	err := withWorld(ctx, b, func(w *world) error {
		s.world = w
		own := &ours{}
		return inPlace(ctx, w, own, sites, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}, func(ctx context.Context) error {
			defer b.profile(ctx, w, own, "soak")()
			return s.run(ctx)
		})
	})
	if err != nil {
		return nil, err
	}
	return s.rows(b.soak), nil
}

// soak is what a long time of changes has shown.
type soak struct {
	world   *world
	changes int
	sites   int

	resident []float64 // MiB, once a second
	mu       sync.Mutex
	took     []float64 // ms
}

// run makes all changes, and ends at the first that fails.
func (s *soak) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ticker := time.NewTicker(time.Second / changesPerSecond)
	defer ticker.Stop()
	for i := range s.changes {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			_ = group.Wait() // what else fails is a consequence
			return context.Cause(ctx)
		}
		begin := time.Now()
		group.Go(func() error { return s.change(ctx, i, begin) })
		if i%changesPerSecond == 0 {
			if err := s.look(); err != nil {
				group.Go(func() error { return err })
			}
		}
	}
	return group.Wait()
}

// change changes the first page of a site and waits until it has followed.
func (s *soak) change(ctx context.Context, number int, begin time.Time) error {
	name, front := siteName(number%s.sites), strconv.Itoa(number)
	if err := s.world.patchSite(ctx, name, fmt.Sprintf(`{"spec":{"front":%q}}`, front)); err != nil {
		return err
	}
	end, err := s.world.pages.when(ctx, func(seen *pages) bool {
		now, err := strconv.Atoi(seen.fronts[site.PageName(name, 0)])
		return err == nil && now >= number // a later change may have come with it
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, inMilliseconds(end.Sub(begin)))
	return nil
}

// look notes what the server occupies.
func (s *soak) look() error {
	usage, err := s.world.env.Usage()
	if err != nil {
		return err
	}
	s.resident = append(s.resident, float64(usage.Resident)/(1<<20))
	return nil
}

func (s *soak) rows(duration time.Duration) []row {
	scenario := fmt.Sprintf("%d changes/s for %s", changesPerSecond, inWords(duration))
	p99 := quantile(s.took, 0.99)
	before, after := s.growth()
	return []row{{
		scenario: scenario, figure: "p99 event to applied",
		ours: milliseconds(p99), value: p99, bound: 1000,
		verdict: fmt.Sprintf("%s, p50 %s", milliseconds(p99), milliseconds(quantile(s.took, 0.5))), must: "≤ 1 s",
	}, {
		scenario: scenario, figure: "RSS in the second tenth of the time, and in the last",
		ours: mebibytes(before) + ", " + mebibytes(after), value: after / before, bound: 1.05,
		verdict: fmt.Sprintf("%+.1f %%", (after/before-1)*100), must: "none, ± 5 %",
	}}
}

// growth is the median of the memory in the second tenth of the time, when caches are warm, and in the last; NaN if
// there is no look in each tenth.
func (s *soak) growth() (before, after float64) {
	tenth := len(s.resident) / 10
	return quantile(s.resident[tenth:2*tenth], 0.5), quantile(s.resident[len(s.resident)-tenth:], 0.5)
}

// inWords is a duration in minutes, if it has only these.
func inWords(duration time.Duration) string {
	switch {
	case duration == time.Minute:
		return "1 minute"
	case duration%time.Minute == 0:
		return fmt.Sprintf("%d minutes", duration/time.Minute)
	}
	return duration.String()
}
