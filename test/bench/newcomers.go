// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newcomers creates sites while all others are synced again and again.
func (b *bench) newcomers(ctx context.Context, w *world, there int) (now int, err error) {
	const resyncing, newcomers = 10_000, 100
	const every, between = 10, 150 * time.Millisecond
	if err := w.createSites(ctx, there, resyncing, fleetSpec()); err != nil {
		return 0, err
	}
	if err := w.pages.wait(ctx, have(resyncing*fleetSpec().Pages, "begin")); err != nil {
		return 0, err
	}
	if err := w.setResyncPeriod(ctx, fmt.Sprint(every)); err != nil {
		return 0, err
	}
	w.hook.forget()
	if err := w.hook.wait(ctx, resyncing*3/2); err != nil { // the first resync has begun
		return 0, err
	}
	begin, calls := time.Now(), w.hook.count()
	created := map[string]time.Time{}
	for i := range newcomers {
		name := siteName(resyncing + i)
		created[name] = time.Now()
		if err := w.createSite(ctx, name, fleetSpec()); err != nil {
			return 0, err
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	b.logf("%.0f syncs a second beside the newcomers", float64(w.hook.count()-calls)/time.Since(begin).Seconds())
	if err := w.pages.wait(ctx, have((resyncing+newcomers)*fleetSpec().Pages, "begin")); err != nil {
		return 0, err
	}
	first := w.hook.firstCalls()
	for name, at := range created {
		b.addTime("newcomers", first[name].Sub(at))
	}
	return resyncing + newcomers, w.setResyncPeriod(ctx, "null")
}

// setResyncPeriod sets how often all sites are synced again, in seconds; "null" for never.
func (w *world) setResyncPeriod(ctx context.Context, seconds string) error {
	_, err := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(ctx, "bench", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"resyncPeriodSeconds":%s}}`, seconds), metav1.PatchOptions{})
	return err
}

func (s samples) newcomersRow() row {
	p99 := quantile(s["newcomers"], 0.99)
	return row{
		scenario: "a new parent while 10,000 resync", figure: "p99 to its first sync", ours: milliseconds(p99), value: p99, bound: 1000,
		verdict: milliseconds(p99), must: "≤ 1 s",
	}
}
