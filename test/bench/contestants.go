// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// contestants is the group of users that the other two are in.
const contestants = "contestants"

// The names of the contestants, of the other two also those of their programs. inlineName is our server with an inline
// hook.
const ourName, inlineName, nativeName, floorName = "ours", "inline", "native", "floor"

// contestant gives sites their pages while it runs.
type contestant interface {
	name() string
	isOurs() bool    // whether it is our server, of which more is measured
	callsHook() bool // or makes the pages itself
	start(ctx context.Context, w *world) error
	stop(ctx context.Context) error
	pid() int
	exited() error // how it ended, nil while it runs
	done() <-chan struct{}
}

// everybody are the contestants, in another order each round: each is first, second and third in one of three.
func everybody(round int) []contestant {
	floor, native, own := &other{program: floorName}, &other{program: nativeName}, &ours{}
	orders := [][]contestant{{floor, own, native}, {native, floor, own}, {own, native, floor}}
	return orders[round%len(orders)]
}

// whileRunning is a context that ends with a contestant.
func whileRunning(ctx context.Context, of contestant) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-of.done():
			cancel(of.exited())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
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

// measuredCPU is how much CPU a contestant has used while something was done.
func measuredCPU(of contestant, do func() error) (time.Duration, error) {
	before, err := process.UsageOf(of.pid())
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := process.UsageOf(of.pid())
	return after.CPU - before.CPU, err
}
