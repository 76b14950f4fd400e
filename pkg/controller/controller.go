// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Config is what the controller loop runs with.
type Config struct {
	// Host is the cluster that is extended: where parents and children live.
	Host *rest.Config
	// Loopback is the API server of this process, which has the controllers.
	Loopback *rest.Config
	// Metrics is where controllers show their metrics while they run.
	Metrics prometheus.Registerer
	Options
}

// Options are the settings of the controller loop.
type Options struct {
	// Namespace is the one of the server, which has the ControllerRevisions of
	// cluster-scoped parents.
	Namespace string
	// Workers is how many parents of one controller are synced at once. At least 1.
	Workers int
	// ParallelWrites is how many writes to the host may be under way at once in the
	// whole process, ParallelWritesPerSync how many of them for one parent. At least 1.
	ParallelWrites        int
	ParallelWritesPerSync int
	// TargetLabelSelector selects the controllers to run; empty selects all.
	TargetLabelSelector string
	// Events bounds the events that are written about one object.
	Events report.EventOptions
	// LeaderElection makes one of several processes run the controllers.
	LeaderElection LeaderElection
	// ApplyStrategy is how children are written whose type's rule does not say it, and
	// ApplyFieldManager the field manager of server-side apply.
	ApplyStrategy     ApplyStrategy
	ApplyFieldManager string
	// Client bounds the rate of requests to the host.
	Client ClientLimits
	// CacheFlushInterval is how often all parents are synced again; zero is never.
	CacheFlushInterval time.Duration
	// DiscoveryInterval is how often the types in use are read from the host again,
	// beside what is noticed at once; zero is never.
	DiscoveryInterval time.Duration
	// HookMaxResponseBytes is the size above which a hook's answer is refused.
	HookMaxResponseBytes int64
	// HookDenied are the networks that hooks may not be in.
	HookDenied hookaddress.Denied
}

// DefaultOptions are the settings that hold where nothing else is said.
func DefaultOptions() Options {
	return Options{
		Workers:               5,
		ParallelWrites:        64,
		ParallelWritesPerSync: 16,
		Events:                report.EventOptions{QPS: 1. / 300, Burst: 25},
		LeaderElection:        LeaderElection{Name: "metacontroller"},
		ApplyStrategy:         DynamicApply,
		ApplyFieldManager:     host.FieldManager,
		CacheFlushInterval:    30 * time.Minute,
		DiscoveryInterval:     30 * time.Second,
		HookMaxResponseBytes:  32 << 20,
		HookDenied:            hookaddress.LinkLocal(),
	}
}

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
	stored, err := store.New(own, externalversions.NewSharedInformerFactoryWithOptions(own, 0, externalversions.WithTransform(withoutManagedFields)))
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
