// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestAChangeThatNobodyFollowsCostsNoAllocation(t *testing.T) {
	var f Feed[string]
	alloctest.AtMost(t, 0, func() { f.Changed("a") })
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Feed[string]
		ctx, cancel := context.WithCancel(t.Context())
		var told [][]string
		ended := make(chan error)
		go func() {
			ended <- f.Follow(ctx, func() error {
				f.Changed("while the first is told")
				return nil
			}, func(changed []string) error {
				slices.Sort(changed)
				told = append(told, changed)
				return nil
			})
		}()
		synctest.Wait()
		if !f.IsFollowed() {
			t.Error("nobody follows")
		}
		<-time.After(interval)
		synctest.Wait()
		f.Changed("b")
		f.Changed("a")
		f.Changed("b")
		<-time.After(interval)
		synctest.Wait()
		want := [][]string{{"while the first is told"}, {"a", "b"}}
		if !slices.EqualFunc(told, want, slices.Equal) {
			t.Errorf("told %q, want %q", told, want)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || f.IsFollowed() {
			t.Errorf("it ended with %v, and is followed: %v", err, f.IsFollowed())
		}
	})
}

func TestFollowEndsWithTheErrorOfWhoIsTold(t *testing.T) {
	broken := errors.New("broken")
	var f Feed[string]
	if err := f.Follow(t.Context(), func() error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	err := f.Follow(t.Context(), func() error { f.Changed("a"); return nil }, func([]string) error { return broken })
	if !errors.Is(err, broken) || f.IsFollowed() {
		t.Errorf("error is %v, and it is followed: %v", err, f.IsFollowed())
	}
}
