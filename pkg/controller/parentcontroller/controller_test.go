// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestAControllerWhoseHookCannotBeCalledIsNotMade(t *testing.T) {
	before := goleak.IgnoreCurrent()
	_, err := New(Dependencies{}, specOf(v1alpha1.Webhook{Path: ptr.To("/sync")}))
	const want = "sync hook: invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	goleak.VerifyNone(t, before)
}

func TestAControllerThatIsClosedLeavesNothingBehind(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) { made(t).Close() })
		goleak.VerifyNone(t, before)
	})
	t.Run("run on a host that never answers its watches", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan struct{})
			c := made(t)
			go func() {
				defer close(returned)
				c.Run(ctx)
			}()
			cancel()
			<-returned
		})
		goleak.VerifyNone(t, before)
	})
}
