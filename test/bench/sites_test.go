// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestParallelDoesEachOnce(t *testing.T) {
	t.Parallel()
	const count = 1000
	var done [count]atomic.Int32
	err := parallel(t.Context(), count, func(_ context.Context, i int) error {
		done[i].Add(1)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i := range done {
		if times := done[i].Load(); times != 1 {
			t.Errorf("number %d was done %d times, want once", i, times)
		}
	}
}

func TestParallelStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	const count, fails = 1000, 30
	broken := errors.New("broken")
	var begun atomic.Int32
	err := parallel(t.Context(), count, func(ctx context.Context, i int) error {
		begun.Add(1)
		if i == fails {
			return broken
		}
		if i < fails {
			return nil
		}
		<-ctx.Done() // what is under way learns of it
		return ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %q", err, broken)
	}
	if begun.Load() > fails+20 {
		t.Errorf("%d were begun though number %d has failed", begun.Load(), fails)
	}
}

func TestParallelIsNotDoneWhenItsContextIsOver(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := parallel(over, 3, func(context.Context, int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %q", err, context.Canceled)
	}
}
