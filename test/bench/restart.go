// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// occupied waits until the server has no more to do, and notes its memory under a name.
func (b *bench) occupied(ctx context.Context, w *world, what string) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	resident, err := w.resident(ctx)
	if err != nil {
		return err
	}
	b.add(what, resident)
	b.logf("%s: %.0f MiB", what, resident)
	return nil
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
	var begin time.Time
	err = w.restartServer(ctx, func() error {
		begin = time.Now()
		return nil
	})
	if err != nil {
		return err
	}
	stopProfile := b.profile(ctx, w, own, "restart")
	if err := w.waitForSynced(ctx, sites); err != nil {
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
	b.logf("restart, %d sites: quiet after %s, %d calls, %d writes, %.0f MiB",
		sites, quiet, w.hook.count(), writes, resident)
	return nil
}

// waitForSynced waits until the server counts so many sites as synced.
func (w *world) waitForSynced(ctx context.Context, sites int) error {
	return poll.Within(ctx, patience, func(ctx context.Context) error {
		families, err := w.env.Metrics(ctx)
		if err != nil {
			return err
		}
		counts := harness.Series(families["metacontroller_parents"], "controller_name", "bench", "state", "synced")
		if len(counts) == 0 {
			return errors.New("the server does not count sites yet")
		}
		if synced := counts[0].GetGauge().GetValue(); int(synced) != sites {
			return fmt.Errorf("%.0f of %d sites are synced", synced, sites)
		}
		return nil
	})
}

// resident is how many MiB the server occupies at most while that does not change any more.
func (w *world) resident(ctx context.Context) (float64, error) {
	const same, within = 30 * time.Second, 0.02
	var first, most float64
	var since time.Time
	err := poll.Within(ctx, patience, func(context.Context) error {
		usage, err := w.env.Usage()
		if err != nil {
			return err
		}
		now := float64(usage.Resident) / (1 << 20)
		if first == 0 || now < first*(1-within) || now > first*(1+within) {
			first, most, since = now, now, time.Now()
		}
		most = max(most, now)
		if time.Since(since) < same {
			return errors.New("the server's memory still changes")
		}
		return nil
	})
	return most, err
}
