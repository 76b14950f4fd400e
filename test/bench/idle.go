// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// idleTime is how long an idle server is watched.
const idleTime = 2 * time.Minute

// measureIdle measures what a server costs that has no controllers and that nobody asks: when it has just started, and after
// work.
func measureIdle(ctx context.Context, b *bench) ([]row, error) {
	const fresh, after = "of a process that has just started", "after 300 × 10 were made, changed and deleted"
	for range b.rounds {
		err := withWorld(ctx, b, func(w *world) error {
			if err := b.idle(ctx, w, fresh); err != nil {
				return err
			}
			if err := w.workAndClean(ctx); err != nil {
				return err
			}
			return b.idle(ctx, w, after)
		})
		if err != nil {
			return nil, err
		}
	}
	return []row{
		idleRow("share of a core, "+fresh, "%.2f %%", b.median("idle CPU "+fresh), 0.3),
		idleRow("RSS, "+fresh, "%.0f MiB", b.farthest("idle memory "+fresh, 0), 70),
		idleRow("RSS, "+after, "%.0f MiB", b.farthest("idle memory "+after, 0), 100),
	}, nil
}

func idleRow(figure, format string, value, bound float64) row {
	text := fmt.Sprintf(format, value)
	return row{scenario: "no controllers, nobody asks", figure: figure, ours: text, value: value, bound: bound, verdict: text, must: "≤ " + fmt.Sprintf(format, bound)}
}

// workAndClean has the server make and change many pages, and deletes everything.
func (w *world) workAndClean(ctx context.Context) error {
	const sites, pagesPerSite = 300, 10
	own := &ours{}
	if err := own.start(ctx, w); err != nil {
		return err
	}
	spec := site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin", Filler: site.Text("filler", kilobyte)}
	if err := w.createSites(ctx, 0, sites, spec); err != nil {
		return err
	}
	if err := w.pages.wait(ctx, have(sites*pagesPerSite, "begin")); err != nil {
		return err
	}
	if err := w.patchSites(ctx, sites, `{"spec":{"value":"end"}}`); err != nil {
		return err
	}
	if err := w.pages.wait(ctx, have(sites*pagesPerSite, "end")); err != nil {
		return err
	}
	if err := own.stop(ctx); err != nil {
		return err
	}
	return w.clean(ctx)
}

// idle measures the server while it has nothing to do, and notes that under a name.
func (b *bench) idle(ctx context.Context, w *world, name string) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	resident, err := w.resident(ctx)
	if err != nil {
		return err
	}
	before, err := w.env.Usage()
	if err != nil {
		return err
	}
	began := time.Now()
	if b.profiles != "" {
		profile, err := w.env.GetAsAdministrator(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", idleTime/time.Second))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.profiles, "idle.cpu"), []byte(profile), 0o600); err != nil {
			return err
		}
	} else {
		select {
		case <-time.After(idleTime):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	after, err := w.env.Usage()
	if err != nil {
		return err
	}
	share := 100 * (after.CPU - before.CPU).Seconds() / time.Since(began).Seconds()
	b.add("idle CPU "+name, share)
	b.add("idle memory "+name, resident)
	b.logf("idle %s: %.2f %% of a core, %.0f MiB", name, share, resident)
	return nil
}
