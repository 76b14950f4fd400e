// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

// stopTimeout is how long a process may take to end once it is cut off.
const stopTimeout = 30 * time.Second

// process is one life of the controllers: they run in this program, and reach the host only through
// their proxy. To the host it makes no difference whether they die or are cut off.
type process struct {
	proxy  *proxy.Proxy
	cancel context.CancelFunc
	done   chan error
}

// startProcess starts the controllers that a label selector selects.
func startProcess(log io.Writer, script proxy.Script, options controller.Options) (*process, error) {
	through, err := proxy.Start(upstream, script)
	if err != nil {
		return nil, err
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(2)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	p := &process{proxy: through, cancel: cancel, done: make(chan error, 1)}
	registered, err := registration.New(through.Host(), registration.Config{
		APIService: aggregation.APIServiceName, Namespace: aggregation.Namespace, Service: aggregation.ServiceName,
	})
	if err != nil {
		return nil, err
	}
	config := controller.Config{Host: through.Host(), Loopback: through.Own(), Metrics: prometheus.NewRegistry(), Registration: registered, Options: options}
	go func() {
		var running errgroup.Group
		running.Go(func() error { return registered.Run(ctx) })
		running.Go(func() error { return controller.Run(ctx, config) })
		p.done <- running.Wait()
	}()
	return p, nil
}

// kill cuts the process off and waits for its end.
func (p *process) kill() error {
	p.proxy.Cut()
	p.cancel()
	defer p.proxy.Close()
	select {
	case err := <-p.done:
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the controllers ended with an error: %w", err)
		}
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("the controllers did not end within %s", stopTimeout)
	}
}
