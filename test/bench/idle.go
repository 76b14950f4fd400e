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

// measureIdle measures a server that has no controllers and receives no requests: its CPU and memory after its start, and its memory
// after it has worked and everything was deleted.
func measureIdle(ctx context.Context, b *bench) ([]row, error) {
	const fresh, after = "of a process that has just started", "after 300 × 10 were made, changed and deleted"
	for range b.rounds {
		err := withWorld(ctx, b, func(w *world) error {
			if err := b.occupied(ctx, w, "RSS, "+fresh); err != nil {
				return err
			}
			if err := b.idle(ctx, w); err != nil {
				return err
			}
			if err := w.workAndClean(ctx); err != nil {
				return err
			}
			return b.occupied(ctx, w, "RSS, "+after)
		})
		if err != nil {
			return nil, err
		}
	}
	return []row{
		idleRow("share of a core, "+fresh, fmt.Sprintf("%.2f %%", b.median("idle CPU"))),
		idleRow("RSS, "+fresh, mebibytes(b.farthest("RSS, "+fresh, 0))),
		idleRow("RSS, "+after, mebibytes(b.farthest("RSS, "+after, 0))),
	}, nil
}

// idleRow is a row that has no bound.
func idleRow(figure, value string) row {
	return row{scenario: "no controllers, no requests", figure: figure, ours: value, verdict: value}
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

// idle measures the CPU that the server takes while it has nothing to do.
func (b *bench) idle(ctx context.Context, w *world) error {
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
	b.add("idle CPU", share)
	b.logf("idle: %.2f %% of a core", share)
	return nil
}
