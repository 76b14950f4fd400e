// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/review"
)

// WithReviews calls do with what answers reviews of syncs, and returns its error when all has stopped that it started. No
// controller runs and nothing is written. Nothing is concealed either: it is for those who have all objects anyway,
// in files.
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
	drainer := drain.New(clients.host, dependencies.Discovery, dependencies.Actor, dependencies.Events.FinalizerRemoved)
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
