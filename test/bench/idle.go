// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// idleTime is how long an idle server is watched.
const idleTime = 2 * time.Minute

// measureIdle measures what a server costs that has no controllers and that nobody asks.
func measureIdle(ctx context.Context, b *bench) ([]row, error) {
	for range b.rounds {
		if err := withWorld(ctx, b, func(w *world) error { return b.idle(ctx, w) }); err != nil {
			return nil, err
		}
	}
	share, resident := b.median("idle CPU"), b.median("idle memory")
	return []row{{
		scenario: "no controllers, nobody asks", figure: "share of a core, of a process that has just started", ours: fmt.Sprintf("%.2f %%", share),
		value: share, bound: 0.3, verdict: fmt.Sprintf("%.2f %%", share), must: "≤ 0.3 %",
	}, {
		scenario: "no controllers, nobody asks", figure: "RSS of a process that has just started", ours: fmt.Sprintf("%.0f MiB", resident),
		value: resident, bound: 70, verdict: fmt.Sprintf("%.0f MiB", resident), must: "≤ 70 MiB",
	}}, nil
}

func (b *bench) idle(ctx context.Context, w *world) error {
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
	b.add("idle CPU", share)
	b.add("idle memory", resident)
	b.logf("idle: %.2f %% of a core, %.0f MiB", share, resident)
	return nil
}
