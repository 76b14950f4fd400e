// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
)

func TestAHandleReachesNothingWhileNoLoopRuns(t *testing.T) {
	handle := &Handle{}
	reach := func() error {
		return handle.use(t.Context(), func(context.Context, *loop) error {
			t.Error("something is reached")
			return nil
		})
	}
	if err := reach(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before the loop runs, the error is %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	closeHandle := handle.open(ctx, &loop{})
	end()
	if err := reach(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("of a loop that ends, the error is %v", err)
	}
	closeHandle()
	if err := reach(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the loop has ended, the error is %v", err)
	}
}

func TestAHandleReachesTheLoopThatRuns(t *testing.T) {
	handle, running, failed := &Handle{}, &loop{}, errors.New("no")
	defer handle.open(t.Context(), running)()
	err := handle.use(t.Context(), func(_ context.Context, reached *loop) error {
		if reached != running {
			t.Error("another loop is reached")
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v, want %v", err, failed)
	}
}

func TestALoopEndsAfterItsUsers(t *testing.T) {
	handle := &Handle{}
	ctx, end := context.WithCancel(t.Context())
	closeHandle := handle.open(ctx, &loop{})
	used, closed, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		result <- handle.use(t.Context(), func(ctx context.Context, _ *loop) error {
			close(used)
			<-ctx.Done()
			select {
			case <-closed:
				t.Error("the loop has ended before its user")
			default:
			}
			return context.Cause(ctx)
		})
	}()
	<-used
	end()
	closeHandle()
	close(closed)
	if err := <-result; !errors.Is(err, ErrNotRunning) {
		t.Errorf("the user was told %v, want %v", err, ErrNotRunning)
	}
}
