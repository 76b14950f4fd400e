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

// measureConvergence measures how long it takes until many new sites have their pages.
func measureConvergence(ctx context.Context, b *bench) ([]row, error) {
	const sites, pagesPerSite = 2500, 4
	const hookTakes = 5 * time.Millisecond
	err := withWorld(ctx, b, func(w *world) error {
		w.hook.answerAfter(hookTakes)
		for round := range b.rounds {
			for _, of := range everybody(round) {
				if err := w.createSites(ctx, 0, sites, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}); err != nil {
					return err
				}
				if err := w.settle(ctx); err != nil {
					return err
				}
				calls := w.hook.count()
				begin := time.Now()
				if err := of.start(ctx, w); err != nil {
					return err
				}
				stopProfile := b.profile(ctx, w, of, "convergence")
				running, cancel := whileRunning(ctx, of)
				end, err := w.pages.when(running, have(sites*pagesPerSite, "begin"))
				cancel()
				stopProfile()
				b.logf("%s: %d calls of the hook for %d sites", of.name(), w.hook.count()-calls, sites)
				if err := errors.Join(err, of.stop(ctx)); err != nil {
					return fmt.Errorf("%s: %w", of.name(), err)
				}
				b.addTime(by("convergence", of.name()), end.Sub(begin))
				if err := errors.Join(w.clean(ctx), w.settle(ctx)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []row{b.against("first convergence of 2,500 × 4, 5 ms hook", "wall", "convergence", floorName, 1.15)}, nil
}
