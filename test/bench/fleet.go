// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// fleetSpec is a site of the scenario fleet: a kilobyte, with 4 pages of a kilobyte.
func fleetSpec() site.Spec {
	return site.Spec{Pages: 4, PageBytes: kilobyte, Value: "begin", Filler: site.Text("filler", kilobyte)}
}

// step is the server with so many sites.
type step struct {
	sites    int
	resident float64 // MiB
	perSync  float64 // ms of CPU
	restart  float64 // ms until it is quiet
}

// measureFleet measures a server with many sites: how it starts again, what it occupies, how both grow, and whether
// a new site has to wait for the others.
func measureFleet(ctx context.Context, b *bench) ([]row, error) {
	const most = 9000
	var steps []step
	err := withWorld(ctx, b, func(w *world) error {
		own := &ours{}
		if err := own.start(ctx, w); err != nil {
			return err
		}
		there := 0
		for _, sites := range []int{most / 8, most / 4, most / 2, most} {
			if err := w.createSites(ctx, there, sites, fleetSpec()); err != nil {
				return err
			}
			there = sites
			if err := w.pages.wait(ctx, have(sites*fleetSpec().Pages, "begin")); err != nil {
				return err
			}
			rounds := 1
			if sites == most {
				rounds = b.rounds
				if err := b.occupied(ctx, w, "resident at work"); err != nil {
					return err
				}
			}
			for range rounds {
				if err := b.restart(ctx, w, own, sites); err != nil {
					return err
				}
			}
			if err := b.touchSome(ctx, w, own, sites); err != nil {
				return err
			}
			steps = append(steps, step{
				sites: sites, resident: b.median(fmt.Sprintf("resident %d", sites)), perSync: b.median(fmt.Sprintf("cpu a sync %d", sites)),
				restart: b.median(fmt.Sprintf("restart %d", sites)),
			})
		}
		return b.newcomers(ctx, w, most)
	})
	if err != nil {
		return nil, err
	}
	b.steps = steps
	of := func(what string) string { return fmt.Sprintf("%s %d", what, most) }
	quiet := milliseconds(b.median(of("restart")))
	writes, calls := b.farthest(of("restart writes"), 0), b.farthest(of("restart calls"), most)/most
	made, restarted := b.farthest("resident at work", 0), b.farthest(of("resident"), 0)
	return []row{
		{
			scenario: "restart with 9,000 × 4 in place", figure: "writes to the host but events", ours: fmt.Sprintf("%.0f", writes),
			value: writes, bound: 0, verdict: fmt.Sprintf("%.0f, quiet after %s", writes, quiet), must: "0",
		},
		{
			scenario: "restart with 9,000 × 4 in place", figure: "calls of the hook a parent", ours: fmt.Sprintf("%.3f", calls),
			value: math.Abs(calls - 1), bound: 0, verdict: fmt.Sprintf("%.3f", calls), must: "1",
		},
		{
			scenario: "memory at 9,000 × 4", figure: "RSS of the whole process, the larger of after creating them and after restarts",
			ours: mebibytes(max(made, restarted)), value: max(made, restarted), bound: 300,
			verdict: mebibytes(made) + ", " + mebibytes(restarted), must: "≤ 300 MiB",
		},
		b.newcomersRow(),
	}, nil
}

// touchSome touches a thousand of the sites without effect.
func (b *bench) touchSome(ctx context.Context, w *world, own *ours, sites int) error {
	const touched = 1000
	w.hook.forget()
	used, err := measuredCPU(own, func() error {
		if err := w.patchSites(ctx, touched, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, sites)); err != nil {
			return err
		}
		return w.hook.wait(ctx, touched)
	})
	if err != nil {
		return err
	}
	b.addTime(fmt.Sprintf("cpu a sync %d", sites), used/touched)
	return nil
}
