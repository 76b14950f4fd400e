// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/review"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// loop is what runs until the process ends, or until it leads no more.
type loop struct {
	config       Config
	clients      *clients
	dependencies hosted.Dependencies
	// informers are those of the controller objects.
	informers   externalversions.SharedInformerFactory
	drainer     *drain.Drainer
	reconcilers []*lifecycle.Reconciler
	reviews     *review.Reviews
}

// run runs the reconcilers, and what they and the controllers depend on, until ctx ends or one of
// them fails, and waits until all have stopped. Until then, the handle of the configuration reaches
// the loop.
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

// announce logs how many controllers there are, as soon as that is known.
func (l *loop) announce(ctx context.Context) {
	objects := l.informers.Metacontroller().V1alpha1()
	composites, decorators := objects.CompositeControllers().Informer(), objects.DecoratorControllers().Informer()
	if cache.WaitForCacheSync(ctx.Done(), composites.HasSynced, decorators.HasSynced) {
		klog.FromContext(ctx).Info("Running the controllers", "compositeControllers", len(composites.GetStore().ListKeys()),
			"decoratorControllers", len(decorators.GetStore().ListKeys()))
	}
}
