// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/mirror"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/parentsync"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
)

// live shows in the API what the controllers have in memory.
type live struct{ rest.Live }

func newLive(handle *controller.Handle) *live {
	return &live{rest.Live{
		Syncs: mirror.New(parentsync.NewStore(), mirror.Origins[*v1alpha1.Sync]{Local: mirror.FollowFunc[*v1alpha1.Sync](handle.FollowSyncs)}),
	}}
}

// start shows it until stop is called or ctx ends.
func (l *live) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Syncs.Run(ctx) })
	return func() { cancel(); running.Wait() }
}
