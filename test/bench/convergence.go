// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// measureConvergence measures how long it takes until many new sites have their pages. The first time does not count:
// a host that has just started is faster than it ever is again, which would be the good luck of one.
func measureConvergence(ctx context.Context, b *bench) ([]row, error) {
	const hookTakes = 5 * time.Millisecond
	err := withWorld(ctx, b, func(w *world) error {
		w.hook.answerAfter(hookTakes)
		if _, err := converge(ctx, b, w, &other{program: nativeName}); err != nil {
			return err
		}
		for round := range b.rounds {
			for _, of := range everybody(round) {
				took, err := converge(ctx, b, w, of)
				if err != nil {
					return err
				}
				b.addTime(by("convergence", of.name()), took)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []row{b.against("first convergence of 2,500 × 4, 5 ms hook", "wall", "convergence", floorName, 1.15)}, nil
}

// converge tells how long one of them takes, and removes the sites again.
func converge(ctx context.Context, b *bench, w *world, of contestant) (time.Duration, error) {
	const sites, pagesPerSite = 2500, 4
	if err := w.createSites(ctx, 0, sites, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}); err != nil {
		return 0, err
	}
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	calls := w.hook.count()
	begin := time.Now()
	if err := of.start(ctx, w); err != nil {
		return 0, err
	}
	stopProfile := b.profile(ctx, w, of, "convergence")
	running, cancel := whileRunning(ctx, of)
	end, err := w.pages.when(running, have(sites*pagesPerSite, "begin"))
	cancel()
	stopProfile()
	took := end.Sub(begin)
	b.logf("%s: %s, and %d calls of the hook for %d sites", of.name(), took.Round(time.Millisecond), w.hook.count()-calls, sites)
	if err := errors.Join(err, of.stop(ctx)); err != nil {
		return 0, fmt.Errorf("%s: %w", of.name(), err)
	}
	return took, errors.Join(w.clean(ctx), w.settle(ctx))
}
