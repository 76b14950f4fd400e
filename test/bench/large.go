// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// measureLarge measures the memory that large pages take.
func measureLarge(ctx context.Context, b *bench) ([]row, error) {
	const sites, pagesPerSite, pageBytes = 300, 10, 100 * kilobyte
	err := withWorld(ctx, b, func(w *world) error {
		own := &ours{}
		if err := own.start(ctx, w); err != nil {
			return err
		}
		if err := w.createSites(ctx, 0, sites, site.Spec{Pages: pagesPerSite, PageBytes: pageBytes, Value: "begin"}); err != nil {
			return err
		}
		if err := w.pages.wait(ctx, have(sites*pagesPerSite, "begin")); err != nil {
			return err
		}
		if err := b.occupied(ctx, w, "resident of large at work"); err != nil {
			return err
		}
		for range b.rounds {
			if err := b.restart(ctx, w, own, sites); err != nil {
				return err
			}
		}
		page, err := w.client().Get().AbsPath(site.PagesPath, site.PageName(siteName(0), 0)).
			SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return err
		}
		b.add("bytes of a large page", float64(len(page)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	resident := max(b.farthest(fmt.Sprintf("resident %d", sites), 0), b.farthest("resident of large at work", 0))
	all := float64(sites*pagesPerSite) / (1 << 20)
	data, stored := pageBytes*all, b.median("bytes of a large page")*all
	return []row{{
		scenario: "memory at 300 × 10 with 100 KB children", figure: "RSS of the whole process against the children's data",
		ours: mebibytes(resident), value: resident / data, bound: 3.5,
		verdict: fmt.Sprintf("%s the data of %s (%s their JSON)",
			times(resident/data), mebibytes(data), times(resident/stored)),
		must: "≤ 3.5 ×",
	}}, nil
}
