// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
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
	restart  time.Duration
}

// measureFleet measures a server with many sites: how it starts again, what it occupies, how both grow, and whether
// a new site has to wait for the others.
func measureFleet(ctx context.Context, b *bench) error {
	const most = 9000
	return withWorld(ctx, b, func(w *world) error {
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
			b.steps = append(b.steps, step{
				sites: sites, resident: b.median(fmt.Sprintf("resident %d", sites)), perSync: b.median(fmt.Sprintf("cpu a sync %d", sites)),
				restart: time.Duration(b.median(fmt.Sprintf("restart %d", sites)) * float64(time.Millisecond)),
			})
		}
		at := func(what string) float64 { return b.median(fmt.Sprintf("%s %d", what, most)) }
		b.row(row{
			scenario: "restart with 9,000 × 4 in place", figure: "writes to the host but events",
			ours: fmt.Sprintf("%.0f", at("restart writes")), value: at("restart writes"), bound: 0,
			verdict: fmt.Sprintf("%.0f, quiet after %s", at("restart writes"), milliseconds(at("restart"))), must: "0",
		})
		b.row(row{
			scenario: "restart with 9,000 × 4 in place", figure: "calls of the hook a parent",
			ours: fmt.Sprintf("%.3f", at("restart calls")/most), value: at("restart calls") / most, bound: 1,
			verdict: fmt.Sprintf("%.3f", at("restart calls")/most), must: "1",
		})
		b.row(row{
			scenario: "memory at 9,000 × 4", figure: "RSS of the whole process, the larger of after creating them and after restarts",
			ours: mebibytes(max(at("resident"), b.median("resident at work"))), value: max(at("resident"), b.median("resident at work")), bound: 300,
			verdict: mebibytes(b.median("resident at work")) + ", " + mebibytes(at("resident")), must: "≤ 300 MiB",
		})
		return b.newcomers(ctx, w, most)
	})
}

// occupied notes what the server occupies that has made all there is.
func (b *bench) occupied(ctx context.Context, w *world, what string) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	resident, err := w.resident(ctx)
	b.add(what, resident)
	b.logf("%s: %.0f MiB", what, resident)
	return err
}

// restart restarts the server and waits until it is quiet.
func (b *bench) restart(ctx context.Context, w *world, own *ours, sites int) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	from, err := w.env.Host.Audit().Position()
	if err != nil {
		return err
	}
	w.hook.forget()
	begin := time.Now()
	if err := w.restartServer(ctx, func() { begin = time.Now() }); err != nil {
		return err
	}
	stopProfile := b.profile(ctx, w, own, "restart")
	if err := w.hook.wait(ctx, sites); err != nil {
		return err
	}
	quiet := time.Since(begin)
	stopProfile()
	if err := w.settle(ctx); err != nil {
		return err
	}
	resident, err := w.resident(ctx)
	if err != nil {
		return err
	}
	writes, err := w.requests(from, hostcluster.Request{Verbs: hostcluster.Writes()})
	if err != nil {
		return err
	}
	b.addTime(fmt.Sprintf("restart %d", sites), quiet)
	b.add(fmt.Sprintf("restart writes %d", sites), float64(writes))
	b.add(fmt.Sprintf("restart calls %d", sites), float64(w.hook.count()))
	b.add(fmt.Sprintf("resident %d", sites), resident)
	b.logf("%d sites: quiet after %s, %d calls, %d writes, %.0f MiB", sites, quiet, w.hook.count(), writes, resident)
	return nil
}

// resident is how many MiB the server occupies when that does not change any more.
func (w *world) resident(ctx context.Context) (float64, error) {
	const same, within = 30 * time.Second, 0.02
	var last float64
	var since time.Time
	err := poll.Within(ctx, patience, func(context.Context) error {
		usage, err := w.env.Usage()
		if err != nil {
			return err
		}
		now := float64(usage.Resident) / (1 << 20)
		if last == 0 || now < last*(1-within) || now > last*(1+within) {
			last, since = now, time.Now()
		}
		if time.Since(since) < same {
			return errors.New("the server's memory still changes")
		}
		return nil
	})
	return last, err
}

// touchSome touches a few hundred of the sites without effect.
func (b *bench) touchSome(ctx context.Context, w *world, own *ours, sites int) error {
	const touched = 1000
	w.hook.forget()
	used, err := measuredCPU(own, func() error {
		if err := w.patchSites(ctx, touched, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, sites)); err != nil {
			return err
		}
		return w.hook.wait(ctx, touched)
	})
	b.addTime(fmt.Sprintf("cpu a sync %d", sites), used/touched)
	return err
}

// newcomers creates sites while all others are synced again and again.
func (b *bench) newcomers(ctx context.Context, w *world, there int) error {
	const resyncing, newcomers = 10_000, 100
	const every, between = 10, 150 * time.Millisecond
	if err := w.createSites(ctx, there, resyncing, fleetSpec()); err != nil {
		return err
	}
	if err := w.pages.wait(ctx, have(resyncing*fleetSpec().Pages, "begin")); err != nil {
		return err
	}
	_, err := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(ctx, "bench", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"resyncPeriodSeconds":%d}}`, every), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	w.hook.forget()
	if err := w.hook.wait(ctx, resyncing*3/2); err != nil { // the first resync has begun
		return err
	}
	begin, calls := time.Now(), w.hook.count()
	created := map[string]time.Time{}
	for i := range newcomers {
		name := siteName(resyncing + i)
		created[name] = time.Now()
		if err := w.createSite(ctx, name, fleetSpec()); err != nil {
			return err
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b.logf("%.0f syncs a second beside the newcomers", float64(w.hook.count()-calls)/time.Since(begin).Seconds())
	if err := w.pages.wait(ctx, have((resyncing+newcomers)*fleetSpec().Pages, "begin")); err != nil {
		return err
	}
	first := w.hook.firstCalls()
	for name, at := range created {
		b.addTime("newcomers", first[name].Sub(at))
	}
	p99 := quantile(b.samples["newcomers"], 0.99)
	b.row(row{
		scenario: "a new parent while 10,000 resync", figure: "p99 to its first sync", ours: milliseconds(p99), value: p99, bound: 1000,
		verdict: milliseconds(p99), must: "≤ 1 s",
	})
	return nil
}
