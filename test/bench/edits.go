// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

const (
	kilobyte = 1 << 10
	// edits is how many edits of one site a round has.
	edits = 100
	// breath is how long nothing is done before an edit.
	breath = 60 * time.Millisecond
)

// measureEdits measures what edits cost with 300 sites of 10 pages.
func measureEdits(ctx context.Context, b *bench) ([]row, error) {
	const sites, pagesPerSite = 300, 10
	err := withWorld(ctx, b, func(w *world) error {
		withInline := func(round int) []contestant {
			others := everybody(round)
			return slices.Insert(others, round%(len(others)+1), contestant(&ours{inline: true}))
		}
		return b.inPlaceOfAll(ctx, w, withInline, sites, pagesPerSite, func(ctx context.Context, of contestant) error {
			if err := b.updateAll(ctx, w, of, sites, pagesPerSite); err != nil {
				return err
			}
			if err := b.quiet(ctx, w, of, sites); err != nil {
				return err
			}
			return b.edit(ctx, w, of, pagesPerSite, edits)
		})
	})
	if err != nil {
		return nil, err
	}
	quiet, calls := b.median(by("quiet cpu", ourName)), b.ratio(by("update calls", ourName), by("update calls", floorName))
	rows := []row{
		{
			scenario: "quiet sync: touch 300×10 without effect", figure: "CPU of our process per sync",
			ours: milliseconds(quiet), value: quiet, bound: 0.4,
			native: milliseconds(b.median(by("quiet cpu", nativeName))), floor: milliseconds(b.median(by("quiet cpu", floorName))),
			verdict: fmt.Sprintf("%.2f ms", quiet), must: "≤ 0.4 ms",
		},
		b.against("update all: 300×10", "wall", "update wall", floorName, 1.15),
		b.against("update all: 300×10", "CPU of the process", "update cpu", nativeName, 1.3),
		{
			scenario: "update all: 300×10", figure: "calls of the hook", ours: fmt.Sprintf("%.0f", b.median(by("update calls", ourName))),
			floor: fmt.Sprintf("%.0f", b.median(by("update calls", floorName))), value: math.Abs(calls - 1), bound: 0.02,
			verdict: times(calls) + " floor", must: "the same, ± 2 %",
		},
	}
	rows = append(rows, b.editRows("one edit, 10 children", pagesPerSite)...)
	changed, untouched := b.farthest("requests a child", 1), b.farthest("requests a quiet sync", 0)
	rows = append(rows, b.inlineRows(pagesPerSite)...)
	return append(rows, row{
		scenario: "API requests: a changed child", figure: "from the host's audit log",
		ours: fmt.Sprintf("%.3f", changed), value: math.Abs(changed - 1), bound: 0, verdict: fmt.Sprintf("%.3f", changed), must: "1",
	}, row{
		scenario: "API requests: a quiet sync", figure: "from the host's audit log",
		ours: fmt.Sprintf("%.4f", untouched), value: untouched, bound: 0, verdict: fmt.Sprintf("%.4f", untouched), must: "0",
	}), nil
}

// measureWideEdits measures what an edit costs that concerns 200 pages.
func measureWideEdits(ctx context.Context, b *bench) ([]row, error) {
	const pagesPerSite, wideEdits = 200, 50
	err := withWorld(ctx, b, func(w *world) error {
		return b.inPlaceOfAll(ctx, w, everybody, 1, pagesPerSite, func(ctx context.Context, of contestant) error {
			return b.edit(ctx, w, of, pagesPerSite, wideEdits)
		})
	})
	if err != nil {
		return nil, err
	}
	return b.editRows("one edit, 200 children", pagesPerSite), nil
}

// inlineRows compares an inline hook with the webhook and with the native operator.
func (b *bench) inlineRows(pagesPerSite int) []row {
	const quiet = "quiet sync with an inline hook: touch 300×10 without effect"
	const update = "update all with an inline hook: 300×10"
	rows := []row{
		b.inlineRow(quiet, "CPU of our process per sync", "quiet cpu", ourName, 0.5),
		b.inlineRow(update, "wall", "update wall", floorName, 1.15),
		b.inlineRow(update, "CPU of the process", "update cpu", nativeName, 1.3),
	}
	for _, q := range quantilesOfEdits() {
		figure := q.name + " of edit to last child"
		one := b.inlineRow("one edit with an inline hook, 10 children", figure, editsOf(pagesPerSite, q), nativeName, 1)
		rows = append(rows, one)
	}
	return rows
}

// inPlaceOfAll does something with each contestant in each round, in place.
func (b *bench) inPlaceOfAll(
	ctx context.Context, w *world, contestants func(round int) []contestant, sites, pagesPerSite int,
	do func(context.Context, contestant) error,
) error {
	spec := site.Spec{Pages: pagesPerSite, PageBytes: kilobyte, Value: "begin"}
	for round := range b.rounds {
		for _, of := range contestants(round) {
			if err := inPlace(ctx, w, of, sites, spec, func(ctx context.Context) error { return do(ctx, of) }); err != nil {
				return err
			}
		}
	}
	return nil
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
	b.addEdits(pagesPerSite, of.name(), took)
	if of.name() != ourName {
		return nil
	}
	trips, err := w.hook.roundTrips(ctx, times)
	if err != nil {
		return err
	}
	b.addEdits(pagesPerSite, hookName, trips)
	return nil
}
