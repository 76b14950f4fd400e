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

// fleetSites is how many sites the rows of the scenario fleet are about.
const fleetSites = 9000

// measureFleet measures a server with many sites: how it starts again, what it occupies, how both grow, and whether
// a new site has to wait for the others.
func measureFleet(ctx context.Context, b *bench) ([]row, error) {
	var steps []step
	err := withWorld(ctx, b, func(w *world) error {
		own := &ours{}
		if err := own.start(ctx, w); err != nil {
			return err
		}
		there := 0
		grow := func(sites int) error {
			measured, err := b.step(ctx, w, own, there, sites)
			there, steps = sites, append(steps, measured)
			return err
		}
		for _, sites := range []int{fleetSites / 8, fleetSites / 4, fleetSites / 2, fleetSites} {
			if err := grow(sites); err != nil {
				return err
			}
		}
		var err error
		if there, err = b.newcomers(ctx, w, there); err != nil {
			return err
		}
		return grow(2 * fleetSites)
	})
	if err != nil {
		return nil, err
	}
	b.steps = steps
	of := func(what string) string { return fmt.Sprintf("%s %d", what, fleetSites) }
	made, again := b.farthest("resident at work", 0), b.farthest(of("resident"), 0)
	return append(b.restartRows(), row{
		scenario: "memory at 9,000 × 4", figure: "RSS of the whole process, the larger of after creating them and after restarts",
		ours: mebibytes(max(made, again)), value: max(made, again), bound: 460,
		verdict: mebibytes(made) + ", " + mebibytes(again), must: "≤ 460 MiB, nine tenths of the limit of the manifests",
	}, b.newcomersRow()), nil
}

// restartRows are the rows of restarts, which must call the hook about each parent once.
func (b *bench) restartRows() []row {
	const scenario = "restart with 9,000 × 4 in place"
	of := func(what string) string { return fmt.Sprintf("%s %d", what, fleetSites) }
	quiet := milliseconds(b.median(of("restart")))
	writes, calls := b.farthest(of("restart writes"), 0), b.farthest(of("restart calls"), fleetSites)/fleetSites
	return []row{
		{
			scenario: scenario, figure: "writes to the host but events", ours: fmt.Sprintf("%.0f", writes),
			value: writes, bound: 0, verdict: fmt.Sprintf("%.0f, quiet after %s", writes, quiet), must: "0",
		},
		{
			scenario: scenario, figure: "calls of the hook a parent", ours: fmt.Sprintf("%.3f", calls),
			value: math.Abs(calls - 1), bound: 0, verdict: fmt.Sprintf("%.3f", calls), must: "1",
		},
	}
}

// step makes the sites that are there more, and measures the server with them.
func (b *bench) step(ctx context.Context, w *world, own *ours, there, sites int) (step, error) {
	if err := w.createSites(ctx, there, sites, fleetSpec()); err != nil {
		return step{}, err
	}
	if err := w.pages.wait(ctx, have(sites*fleetSpec().Pages, "begin")); err != nil {
		return step{}, err
	}
	rounds := 1
	if sites == fleetSites {
		rounds = b.rounds
		if err := b.occupied(ctx, w, "resident at work"); err != nil {
			return step{}, err
		}
	}
	for range rounds {
		if err := b.restart(ctx, w, own, sites); err != nil {
			return step{}, err
		}
	}
	if err := b.touchSome(ctx, w, own, sites); err != nil {
		return step{}, err
	}
	of := func(what string) float64 { return b.median(fmt.Sprintf("%s %d", what, sites)) }
	return step{sites: sites, resident: of("resident"), perSync: of("cpu a sync"), restart: of("restart")}, nil
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
