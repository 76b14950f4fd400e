// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/review"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// informerLinger is the time for which the objects of a type stay in memory after the last controller that used
// them. One that replaces another finds them there.
const informerLinger = 20 * time.Second

// Run runs the controllers until ctx ends and everything it started has stopped; with an election, whenever this
// process leads. It returns early only with an error, if it lacks something that it cannot start without.
func Run(ctx context.Context, config Config) error {
	if config.Election == nil {
		return run(ctx, config, nil)
	}
	return config.Election.Run(ctx, config.Storage, func(ctx context.Context, term *leader.Term) error {
		return run(ctx, config, term)
	})
}

// run runs the controllers for a term. It starts with empty caches, because another process may have led before.
func run(ctx context.Context, config Config, term *leader.Term) error {
	clients, err := newClients(config, term)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(config.TargetLabelSelector)
	if err != nil {
		return fmt.Errorf("target label selector: %w", err)
	}
	var reconcilers []*lifecycle.Reconciler
	dependencies, release, err := newDependencies(ctx, config, clients, term, func(group string) {
		for _, reconciler := range reconcilers {
			reconciler.GroupChanged(group)
		}
	})
	if err != nil {
		return err
	}
	defer release()
	dependencies.Held = config.Registration.Held
	informers := newInformers(clients.own, selector)
	drainer := drain.New(clients.host, dependencies.Discovery, dependencies.Actor, dependencies.Events.NotFinalized)
	reconcilers = []*lifecycle.Reconciler{
		lifecycle.ForComposites(clients.own, informers, dependencies, drainer),
		lifecycle.ForDecorators(clients.own, informers, dependencies, drainer),
	}
	config.Registration.OnChange(func() {
		for _, reconciler := range reconcilers {
			reconciler.HoldChanged()
		}
	})
	reviews, err := newReviews(clients.hostConfig)
	if err != nil {
		return err
	}
	answers := review.New(config.Loopback, reviews, reconcilers...)
	if err := config.Metrics.Register(answers.Counts()); err != nil {
		return fmt.Errorf("register the metrics of reviews: %w", err)
	}
	defer config.Metrics.Unregister(answers.Counts())
	running := &loop{
		reviews: answers,
		config:  config, clients: clients, dependencies: dependencies, informers: informers,
		drainer: drainer, reconcilers: reconcilers,
	}
	return running.run(ctx)
}

// loop runs until the process ends, or no longer leads.
type loop struct {
	config       Config
	clients      *clients
	dependencies parentcontroller.Dependencies
	// informers are the informers of the controller objects.
	informers   externalversions.SharedInformerFactory
	drainer     *drain.Drainer
	reconcilers []*lifecycle.Reconciler
	reviews     *review.Reviews
}

// run runs the reconcilers, and the parts that they and the controllers depend on, until ctx ends or one of them fails,
// and waits until all have stopped. Until then, the handle of the configuration reaches the loop.
func (l *loop) run(ctx context.Context) error {
	given := ctx
	ctx, stop := context.WithCancelCause(given)
	defer stop(nil)
	l.informers.Start(ctx.Done())
	defer l.informers.Shutdown()
	var running sync.WaitGroup
	start := func(run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil {
				stop(err)
			}
		})
	}
	running.Go(func() { l.dependencies.Revisions.Run(ctx) })
	running.Go(func() { l.dependencies.Permissions.Run(ctx) })
	running.Go(func() { l.drainer.Run(ctx) })
	running.Go(func() { l.announce(ctx) })
	start(func(ctx context.Context) error { return l.dependencies.Discovery.Follow(ctx, l.clients.hostConfig) })
	if l.config.DiscoveryInterval > 0 {
		running.Go(func() { l.dependencies.Discovery.Refresh(ctx, l.config.DiscoveryInterval) })
	}
	for _, reconciler := range l.reconcilers {
		start(func(ctx context.Context) error {
			if !l.config.Registration.WaitUntilKnown(ctx) {
				return nil
			}
			return reconciler.Run(ctx)
		})
	}
	closeHandle := l.config.Handle.open(ctx, l)
	<-ctx.Done()
	closeHandle()
	running.Wait()
	klog.FromContext(ctx).Info("All controllers have stopped")
	if given.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// announce logs how many controllers there are as soon as it is known.
func (l *loop) announce(ctx context.Context) {
	objects := l.informers.Metacontroller().V1alpha1()
	composites, decorators := objects.CompositeControllers().Informer(), objects.DecoratorControllers().Informer()
	if cache.WaitForCacheSync(ctx.Done(), composites.HasSynced, decorators.HasSynced) {
		klog.FromContext(ctx).Info("Running the controllers", "compositeControllers", len(composites.GetStore().ListKeys()),
			"decoratorControllers", len(decorators.GetStore().ListKeys()))
	}
}

// WithReviews calls do with a reviewer of syncs, stops everything that it started, and returns the error of do. It
// runs no controller and writes nothing. It does not redact Secrets, because its users already have all objects in
// files.
func WithReviews(ctx context.Context, config Config, do func(context.Context, *review.Reviews) error) (err error) {
	clients, err := newClients(config, nil)
	if err != nil {
		return err
	}
	dependencies, release, err := newDependencies(ctx, config, clients, nil, func(string) {})
	if err != nil {
		return err
	}
	defer release()
	rights, err := newReviews(clients.hostConfig)
	if err != nil {
		return err
	}
	informers := newInformers(clients.own, labels.Everything())
	drainer := drain.New(clients.host, dependencies.Discovery, dependencies.Actor, dependencies.Events.NotFinalized)
	reviews := review.NewOpen(config.Loopback, rights,
		lifecycle.ForComposites(clients.own, informers, dependencies, drainer),
		lifecycle.ForDecorators(clients.own, informers, dependencies, drainer))

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var following error
	running.Go(func() { dependencies.Revisions.Run(ctx) })
	running.Go(func() { dependencies.Permissions.Run(ctx) })
	running.Go(func() { following = dependencies.Discovery.Follow(ctx, clients.hostConfig) })
	err = do(ctx, reviews)
	stop()
	running.Wait()
	return errors.Join(err, following)
}
