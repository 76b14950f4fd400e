// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Run runs the controllers until ctx ends and everything it started has stopped, as
// long as this process is the leader if there is to be one. It returns early only
// with an error that says what it cannot begin without.
func Run(ctx context.Context, config Config) error {
	if config.LeaderElection.Enabled {
		return lead(ctx, config, run)
	}
	return run(ctx, config)
}

func run(ctx context.Context, config Config) error {
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config.Host), "controllers")
	hostConfig.UserAgent = host.FieldManager + "/" + hostConfig.UserAgent
	config.Client.applyTo(hostConfig)
	client, err := host.NewClient(hostConfig, config.ApplyFieldManager)
	if err != nil {
		return err
	}
	own, err := versioned.NewForConfig(config.Loopback)
	if err != nil {
		return fmt.Errorf("make a client for the own API: %w", err)
	}
	selector, err := labels.Parse(config.TargetLabelSelector)
	if err != nil {
		return fmt.Errorf("target label selector: %w", err)
	}

	// What the hosted controllers use ends after them.
	shared, stopShared := context.WithCancel(context.WithoutCancel(ctx))
	defer stopShared()
	events, err := report.NewEvents(shared, hostConfig, scheme.Scheme, config.Events)
	if err != nil {
		return err
	}
	defer events.Shutdown()
	calls := hook.NewMetrics()
	if err := config.Metrics.Register(calls); err != nil {
		return fmt.Errorf("metrics of hooks: %w", err)
	}
	defer config.Metrics.Unregister(calls)
	watches := host.NewWatches(shared, client)
	actor := &act.Actor{Writer: host.NewWriter(client, config.ParallelWrites), Parallel: config.ParallelWritesPerSync}
	informers := externalversions.NewSharedInformerFactoryWithOptions(own, 0, externalversions.WithTransform(withoutManagedFields),
		externalversions.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = selector.String() }))
	var reconcilers []*lifecycle.Reconciler
	discovery := host.NewDiscovery(client, func(group string) {
		for _, reconciler := range reconcilers {
			reconciler.GroupChanged(group)
		}
	})
	stored, err := revisions.New(own, externalversions.NewSharedInformerFactoryWithOptions(own, 0, externalversions.WithTransform(withoutManagedFields)))
	if err != nil {
		return err
	}
	dependencies := hosted.Dependencies{
		Watches:   watches,
		Discovery: discovery,
		Actor:     actor,
		Events:    events,
		Hook: hook.Options{
			MaxResponseBytes: config.HookMaxResponseBytes, MaxIdleConnections: config.Workers, Denied: config.HookDenied,
			Metrics: calls, Sources: watches,
		},
		Guards:  writeloop.NewRegistry(),
		Engine:  config.ApplyStrategy.engine(),
		Workers: config.Workers,
		Resync:  config.CacheFlushInterval,
		Metrics: config.Metrics,

		Revisions:         stored,
		RevisionNamespace: config.Namespace,
	}
	drainer := &drain.Drainer{Client: client, Discovery: discovery, Actor: actor, Unfinalized: events.NotFinalized}
	reconcilers = []*lifecycle.Reconciler{
		lifecycle.ForComposites(own, informers, dependencies, drainer),
		lifecycle.ForDecorators(own, informers, dependencies, drainer),
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	informers.Start(ctx.Done())
	defer informers.Shutdown()
	var running sync.WaitGroup
	running.Go(func() { stored.Run(ctx) })
	running.Go(func() {
		if err := discovery.Follow(ctx, hostConfig); err != nil {
			stop(err)
		}
	})
	if config.DiscoveryInterval > 0 {
		running.Go(func() { discovery.Refresh(ctx, config.DiscoveryInterval) })
	}
	for _, reconciler := range reconcilers {
		running.Go(func() {
			if err := reconciler.Run(ctx); err != nil {
				stop(err)
			}
		})
	}
	<-ctx.Done()
	running.Wait()
	klog.FromContext(ctx).Info("All controllers have stopped")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// withoutManagedFields drops what nobody reads of an object. An update without them leaves the
// stored ones to the API server, as clients' updates do that have read none.
func withoutManagedFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
