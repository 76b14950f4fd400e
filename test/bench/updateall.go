// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

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
		if err != nil {
			return err
		}
		b.addTime(by("update wall", of.name()), end.Sub(begin))
		return w.settle(ctx, of)
	})
	if err != nil {
		return err
	}
	b.addTime(by("update cpu", of.name()), used)
	b.add(by("update calls", of.name()), float64(w.hook.count()-calls)) // none with an inline hook
	if !of.isOurs() {
		return nil
	}
	requests, err := w.requests(from, hostcluster.Request{Resource: "configmaps"})
	if err != nil {
		return err
	}
	b.add("requests a child", float64(requests)/float64(sites*pagesPerSite))
	return nil
}
