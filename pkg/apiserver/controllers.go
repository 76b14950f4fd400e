// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// stopTimeout bounds how long the server waits for its controllers to stop. It is shorter than the
// grace period of a Pod so that there is time left to drain the API and to close the storage.
const stopTimeout = 20 * time.Second

// controllers runs the controller loop in the process of the API. The loop starts when the API serves. The server
// waits for its end while the API still serves, because the last writes of status go there.
type controllers struct {
	run     func(ctx context.Context, loopback *rest.Config) error
	timeout time.Duration

	mu      sync.Mutex
	cancel  context.CancelFunc // nil before the start
	stopped bool
	done    chan struct{} // closed when run has returned
	fail    context.CancelCauseFunc
	err     error // why run returned before stop was called
}

func newControllers(run func(ctx context.Context, loopback *rest.Config) error) *controllers {
	return &controllers{
		run:     run,
		timeout: stopTimeout,
		done:    make(chan struct{}),
		fail:    func(error) {},
	}
}

func (c *controllers) install(server *genericapiserver.GenericAPIServer) error {
	return errors.Join(
		server.AddPostStartHook("start-controllers", c.start),
		server.AddPreShutdownHook("stop-controllers", c.stop),
	)
}

// onFailure sets the function to call if the controllers end by themselves. The caller must call it before the server
// runs.
func (c *controllers) onFailure(fail context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

// start is the post-start hook. It returns immediately, because the server is not ready before it has returned.
func (c *controllers) start(hook genericapiserver.PostStartHookContext) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	// The context of the hook ends when the server has stopped serving. That is too late to stop
	// the controllers.
	ctx, cancel := context.WithCancel(context.WithoutCancel(hook))
	c.cancel = cancel
	go func() {
		defer close(c.done)
		c.finished(ctx, c.run(ctx, hook.LoopbackClientConfig))
	}()
	return nil
}

// finished keeps the error of run if the controllers ended by themselves. Otherwise it logs the
// error, if there is one.
func (c *controllers) finished(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		if err != nil && !errors.Is(err, context.Canceled) {
			klog.FromContext(ctx).Error(err, "Controllers stopped with an error")
		}
		return
	}
	if err == nil {
		err = errors.New("they stopped unexpectedly")
	}
	c.err = fmt.Errorf("running the controllers: %w", err)
	c.fail(c.err)
}

// stop is the pre-shutdown hook. It returns no error, because the server would not drain its
// requests after one.
func (c *controllers) stop() error {
	c.mu.Lock()
	c.stopped = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		klog.Background().Error(nil, "Controllers did not stop in time; shutting down without them", "timeout", c.timeout)
	}
	return nil
}

// failure returns why the controllers ended by themselves, or nil if they did not.
func (c *controllers) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
