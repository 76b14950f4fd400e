// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// profile begins to take a CPU profile of our server, if that is wished for, and returns a function that waits for its
// end and takes one of the allocations since the start.
func (b *bench) profile(ctx context.Context, w *world, of contestant, scenario string) func() {
	if b.profiles == "" || !of.isOurs() {
		return func() {}
	}
	const seconds = 5
	take := func(name, path string) {
		profile, err := w.env.GetAsAdministrator(ctx, path)
		if err == nil {
			err = os.WriteFile(filepath.Join(b.profiles, scenario+"-"+of.name()+name), []byte(profile), 0o600)
		}
		if err != nil {
			b.logf("no profile of %s: %v", scenario, err)
		}
	}
	var group sync.WaitGroup
	group.Go(func() { take(".cpu", fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds)) })
	return func() {
		group.Wait()
		take(".allocs", "/debug/pprof/allocs")
		take(".heap", "/debug/pprof/heap?gc=1")
	}
}
