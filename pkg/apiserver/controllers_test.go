// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
)

// hookContext is what the server gives its post-start hooks.
func hookContext(ctx context.Context) genericapiserver.PostStartHookContext {
	return genericapiserver.PostStartHookContext{Context: ctx, LoopbackClientConfig: &rest.Config{Host: "loopback"}}
}

// untilTold runs until its context ends.
func untilTold(ctx context.Context, _ *rest.Config) error {
	<-ctx.Done()
	return nil
}

func TestStopWaitsUntilTheControllersHaveStopped(t *testing.T) {
	defer goleak.VerifyNone(t)
	finished := false
	c := newControllers(func(ctx context.Context, loopback *rest.Config) error {
		if loopback.Host != "loopback" {
			t.Errorf("loopback is %s", loopback.Host)
		}
		<-ctx.Done()
		finished = true
		return errors.New("a last write failed")
	})
	c.onFailure(func(err error) { t.Errorf("reported as a failure: %v", err) })
	mustSucceed(t, c.start(hookContext(t.Context())))
	mustSucceed(t, c.stop())
	if !finished {
		t.Error("stop returned before the controllers had stopped")
	}
	mustSucceed(t, c.failure())
}

func TestControllersOutliveTheContextOfTheHook(t *testing.T) {
	defer goleak.VerifyNone(t)
	// It ends when the server has stopped serving; by then the controllers must have been stopped
	// in order.
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan context.Context, 1)
	c := newControllers(func(ctx context.Context, loopback *rest.Config) error {
		running <- ctx
		return untilTold(ctx, loopback)
	})
	mustSucceed(t, c.start(hookContext(ctx)))
	controllersContext := <-running
	cancel()
	mustSucceed(t, controllersContext.Err())
	mustSucceed(t, c.stop())
}

func TestControllersThatEndByThemselvesAreAFailure(t *testing.T) {
	tests := map[string]struct {
		result error
		want   string
	}{
		"with an error":    {errors.New("host rejects us"), "running the controllers: host rejects us"},
		"without an error": {nil, "stopped unexpectedly"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			ctx, fail := context.WithCancelCause(t.Context())
			c := newControllers(func(context.Context, *rest.Config) error { return test.result })
			c.onFailure(fail)
			mustSucceed(t, c.start(hookContext(t.Context())))
			<-ctx.Done()
			for _, err := range []error{context.Cause(ctx), c.failure()} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
			}
			mustSucceed(t, c.stop())
		})
	}
}

func TestStopGivesUpOnControllersThatDoNotStop(t *testing.T) {
	release := make(chan struct{})
	c := newControllers(func(context.Context, *rest.Config) error {
		<-release
		return nil
	})
	c.timeout = time.Millisecond
	mustSucceed(t, c.start(hookContext(t.Context())))
	mustSucceed(t, c.stop()) // an error would keep the server from finishing its requests
	close(release)
	<-c.done
}

func TestControllersDoNotStartAfterTheyWereStopped(t *testing.T) {
	c := newControllers(func(context.Context, *rest.Config) error {
		t.Error("started")
		return nil
	})
	mustSucceed(t, c.stop())
	mustSucceed(t, c.start(hookContext(t.Context())))
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
