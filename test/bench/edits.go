// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

const (
	kilobyte = 1 << 10
	// touchesPerSite is how often sites are touched without effect.
	touchesPerSite = 10
	// edits is how many edits of one site a round has.
	edits = 100
	// breath is how long nothing is done before an edit.
	breath = 60 * time.Millisecond
)

// everybody are the contestants, in another order each round: each is first, second and third in one of three.
func everybody(round int, own *ours) []contestant {
	floor, native := &other{program: "floor"}, &other{program: "native"}
	orders := [][]contestant{{floor, own, native}, {native, floor, own}, {own, native, floor}}
	return orders[round%len(orders)]
}

// measureEdits measures what edits cost with 300 sites of 10 pages.
func measureEdits(ctx context.Context, b *bench) error {
	const sites, pagesPerSite = 300, 10
	err := withWorld(ctx, b, func(w *world) error {
		for round := range b.rounds {
			for _, of := range everybody(round, &ours{}) {
				err := inPlace(ctx, w, of, sites, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}, func(ctx context.Context) error {
					return errors.Join(
						b.updateAll(ctx, w, of, sites, pagesPerSite),
						b.quiet(ctx, w, of, sites),
						b.edit(ctx, w, of, pagesPerSite, edits),
					)
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.row(row{
		scenario: "quiet sync: touch 300×10 without effect", figure: "CPU of our process per sync",
		ours: milliseconds(b.median("quiet cpu ours")), value: b.median("quiet cpu ours"), bound: 0.4,
		native: milliseconds(b.median("quiet cpu native")), floor: milliseconds(b.median("quiet cpu floor")),
		verdict: fmt.Sprintf("%.2f ms", b.median("quiet cpu ours")), must: "≤ 0.4 ms",
	})
	b.row(b.against("update all: 300×10", "wall", "update wall", "floor", 1.15))
	b.row(b.against("update all: 300×10", "CPU of the process", "update cpu", "native", 1.3))
	calls := b.ratio("update calls ours", "update calls floor")
	b.row(row{
		scenario: "update all: 300×10", figure: "calls of the hook", ours: fmt.Sprintf("%.0f", b.median("update calls ours")),
		floor: fmt.Sprintf("%.0f", b.median("update calls floor")), value: math.Abs(calls - 1), bound: 0.02, verdict: times(calls) + " floor", must: "the same",
	})
	b.editRows("one edit, 10 children", pagesPerSite)
	b.row(row{
		scenario: "API requests: a changed child", figure: "from the host's audit log",
		ours: fmt.Sprintf("%.3f", b.median("requests a child")), value: math.Abs(b.median("requests a child") - 1), bound: 0,
		verdict: fmt.Sprintf("%.3f", b.median("requests a child")), must: "1",
	})
	b.row(row{
		scenario: "API requests: a quiet sync", figure: "from the host's audit log",
		ours: fmt.Sprintf("%.4f", b.median("requests a quiet sync")), value: b.median("requests a quiet sync"), bound: 0,
		verdict: fmt.Sprintf("%.4f", b.median("requests a quiet sync")), must: "0",
	})
	return nil
}

// measureWideEdits measures what an edit costs that concerns 200 pages.
func measureWideEdits(ctx context.Context, b *bench) error {
	const pagesPerSite, wideEdits = 200, 50
	err := withWorld(ctx, b, func(w *world) error {
		for round := range b.rounds {
			for _, of := range everybody(round, &ours{}) {
				err := inPlace(ctx, w, of, 1, site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}, func(ctx context.Context) error {
					return b.edit(ctx, w, of, pagesPerSite, wideEdits)
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	b.editRows("one edit, 200 children", pagesPerSite)
	return err
}

// inPlace lets a contestant give sites their pages, does something and removes all again.
func inPlace(ctx context.Context, w *world, of contestant, sites int, spec site.Spec, do func(context.Context) error) error {
	if err := w.createSites(ctx, 0, sites, spec); err != nil {
		return err
	}
	if err := of.start(ctx, w); err != nil {
		return err
	}
	running, cancel := whileRunning(ctx, of)
	defer cancel()
	err := w.pages.wait(running, have(sites*spec.Pages, spec.Value))
	if err == nil {
		err = w.settle(running, of)
	}
	if err == nil {
		err = do(running)
	}
	if err := errors.Join(err, of.stop(ctx)); err != nil {
		return fmt.Errorf("%s: %w", of.name(), err)
	}
	return errors.Join(w.clean(ctx), w.settle(ctx))
}

// updateAll changes all sites at once.
func (b *bench) updateAll(ctx context.Context, w *world, of contestant, sites, pagesPerSite int) error {
	from, err := w.env.Host.Audit().Position()
	if err != nil {
		return err
	}
	calls := w.hook.count()
	used, err := measuredCPU(of, func() error {
		defer b.profile(ctx, w, of, "update-all")()
		begin := time.Now()
		if err := w.patchSites(ctx, sites, `{"spec":{"value":"all"}}`); err != nil {
			return err
		}
		end, err := w.pages.when(ctx, have(sites*pagesPerSite, "all"))
		b.addTime("update wall "+of.name(), end.Sub(begin))
		return errors.Join(err, w.settle(ctx, of))
	})
	if err != nil {
		return err
	}
	b.addTime("update cpu "+of.name(), used)
	b.add("update calls "+of.name(), float64(w.hook.count()-calls))
	if of.name() != "ours" {
		return nil
	}
	requests, err := w.requests(from, hostcluster.Request{Resource: "configmaps"})
	b.add("requests a child", float64(requests)/float64(sites*pagesPerSite))
	return err
}

// requests is how many of the chosen requests our server has made to the host.
func (w *world) requests(from hostcluster.Position, chosen hostcluster.Request) (int, error) {
	chosen.User = harness.ServerUser
	events, err := w.env.Host.Audit().Find(from, chosen)
	return len(slices.DeleteFunc(events, func(event auditv1.Event) bool {
		// Who asks something of our own API is looked up at the host. A watch starts anew every few minutes. Events
		// tell that a controller has started.
		return event.ObjectRef == nil || event.Verb == "watch" || strings.HasSuffix(event.ObjectRef.Resource, "reviews") ||
			event.ObjectRef.Resource == "events"
	})), err
}

// quiet touches all sites without effect.
func (b *bench) quiet(ctx context.Context, w *world, of contestant, sites int) error {
	from, err := w.env.Host.Audit().Position()
	if err != nil {
		return err
	}
	w.hook.forget()
	used, err := measuredCPU(of, func() error {
		defer b.profile(ctx, w, of, "quiet")()
		for touch := range touchesPerSite {
			if err := w.patchSites(ctx, sites, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, touch)); err != nil {
				return err
			}
			if of.name() != "native" {
				if err := w.hook.wait(ctx, (touch+1)*sites); err != nil {
					return err
				}
			}
		}
		if of.name() == "native" { // it cannot be asked how far it is
			return w.settle(ctx, of)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.settle(ctx, of); err != nil {
		return err
	}
	syncs := float64(touchesPerSite * sites)
	b.addTime("quiet cpu "+of.name(), used/time.Duration(syncs))
	if of.name() != "ours" {
		return nil
	}
	b.logf("ours: %d calls of the hook for %.0f touches", w.hook.count(), syncs)
	requests, err := w.requests(from, hostcluster.Request{})
	b.add("requests a quiet sync", float64(requests)/syncs)
	return err
}

// edit edits one site again and again, and measures the time until its last page has followed.
func (b *bench) edit(ctx context.Context, w *world, of contestant, pagesPerSite, times int) error {
	var took []time.Duration
	for i := range times {
		select {
		case <-time.After(breath):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		value := fmt.Sprintf("%d", i)
		begin := time.Now()
		if err := w.patchSite(ctx, siteName(0), fmt.Sprintf(`{"spec":{"value":%q}}`, value)); err != nil {
			return err
		}
		end, err := w.pages.when(ctx, have(pagesPerSite, value))
		if err != nil {
			return err
		}
		took = append(took, end.Sub(begin))
	}
	b.addQuantiles(pagesPerSite, of.name(), took)
	if of.name() != "ours" {
		return nil
	}
	trips, err := w.hook.roundTrips(ctx, times)
	b.addQuantiles(pagesPerSite, "hook", trips)
	return err
}

// quantilesOfEdits are those that a round has of its edits.
var quantilesOfEdits = map[string]float64{"p50": 0.5, "p99": 0.99}

func (b *bench) addQuantiles(pagesPerSite int, who string, took []time.Duration) {
	for name, q := range quantilesOfEdits {
		b.addTime(editKey(pagesPerSite, name, who), quantile(took, q))
	}
}

func editKey(pagesPerSite int, quantile, who string) string {
	return fmt.Sprintf("edit %d %s %s", pagesPerSite, quantile, who)
}

// editRows compares edits with those of the native operator and one round trip to the hook.
func (b *bench) editRows(scenario string, pagesPerSite int) {
	const bound = 1.2
	for _, q := range slices.Sorted(maps.Keys(quantilesOfEdits)) {
		of := func(who string) float64 { return b.median(editKey(pagesPerSite, q, who)) }
		var ratios []float64
		for round, ours := range b.samples[editKey(pagesPerSite, q, "ours")] {
			ratios = append(ratios, ours/(b.samples[editKey(pagesPerSite, q, "native")][round]+b.samples[editKey(pagesPerSite, q, "hook")][round]))
		}
		ratio := quantile(ratios, 0.5)
		b.row(row{
			scenario: scenario, figure: q + " of edit to last child",
			ours: milliseconds(of("ours")), native: milliseconds(of("native")) + " + " + milliseconds(of("hook")), floor: milliseconds(of("floor")),
			value: ratio, bound: bound, verdict: times(ratio) + " native and hook", must: "≤ 1.2 ×",
		})
	}
}

// against compares us with another contestant.
func (b *bench) against(scenario, figure, what, whom string, bound float64) row {
	ratio := b.ratio(what+" ours", what+" "+whom)
	r := row{
		scenario: scenario, figure: figure, ours: milliseconds(b.median(what + " ours")), value: ratio, bound: bound,
		verdict: times(ratio) + " " + whom, must: fmt.Sprintf("≤ %g × %s", bound, whom),
	}
	if len(b.samples[what+" native"]) > 0 {
		r.native = milliseconds(b.median(what + " native"))
	}
	if len(b.samples[what+" floor"]) > 0 {
		r.floor = milliseconds(b.median(what + " floor"))
	}
	return r
}
