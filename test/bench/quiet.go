// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// touchesPerSite is how often sites are touched without effect.
const touchesPerSite = 10

// quiet touches all sites without effect.
func (b *bench) quiet(ctx context.Context, w *world, of contestant, sites int) error {
	from, err := w.env.Host.Audit().Position()
	if err != nil {
		return err
	}
	w.hook.forget()
	evaluated, err := evaluations(ctx, of)
	if err != nil {
		return err
	}
	used, err := measuredCPU(of, func() error {
		defer b.profile(ctx, w, of, "quiet")()
		for touch := range touchesPerSite {
			if err := w.patchSites(ctx, sites, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, touch)); err != nil {
				return err
			}
			if of.callsHook() {
				if err := w.hook.wait(ctx, (touch+1)*sites); err != nil {
					return err
				}
			}
		}
		if !of.callsHook() { // it cannot be asked how far it is
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
	touches := syncs
	if after, err := evaluations(ctx, of); err != nil {
		return err
	} else if after > 0 { // one sync can be about several touches
		syncs = after - evaluated
	}
	b.addTime(by("quiet cpu", of.name()), used/time.Duration(syncs))
	if !of.isOurs() {
		return nil
	}
	b.logf("%s: %d calls of the hook or %.0f evaluations for %.0f touches", of.name(), w.hook.count(), syncs, touches)
	requests, err := w.requests(from, hostcluster.Request{})
	if err != nil {
		return err
	}
	b.add("requests a quiet sync", float64(requests)/syncs)
	return nil
}
