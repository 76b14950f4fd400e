// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Slowly returns a handler that takes ten times as long as a parent that KeepBusy changes stays the
// same.
func Slowly(handler hook.Handler) hook.Handler {
	return func(ctx context.Context, call hook.Call) hook.Answer {
		select {
		case <-time.After(10 * busyPeriod):
		case <-ctx.Done():
		}
		return handler(ctx, call)
	}
}

// busyPeriod is the time between two changes of a busy parent.
const busyPeriod = 20 * time.Millisecond

// KeepBusy changes a parent every 20 milliseconds, as another controller may, until the parent is
// gone or the test ends. Patch returns the JSON merge patch of each change.
func (f *Fixture) KeepBusy(parent string, patch func(change int) Object) {
	f.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(f.Context()))
	var changing sync.WaitGroup
	f.Cleanup(func() {
		stop()
		changing.Wait()
	})
	changing.Go(func() {
		ticker := time.NewTicker(busyPeriod)
		defer ticker.Stop()
		for change := 0; ; change++ {
			_, err := f.ParentClient().Patch(ctx, parent, types.MergePatchType, []byte(JSON(f, patch(change))), metav1.PatchOptions{})
			switch {
			case ctx.Err() != nil, apierrors.IsNotFound(err):
				return
			case err != nil && !apierrors.IsConflict(err):
				f.Errorf("change %d of parent %s: %v", change, parent, err)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Annotating is a patch for KeepBusy that changes an annotation.
func Annotating(change int) Object {
	return Object{"metadata": Object{"annotations": Object{"busy": fmt.Sprint(change)}}}
}
