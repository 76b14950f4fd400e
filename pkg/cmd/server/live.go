// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/kubernetes"
	hostrest "k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/hookcall"
	registry "github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/parentsync"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
)

// newLive returns what shows in the API what the controllers of this process have in memory.
func newLive(handle *controller.Handle, hostConfig *hostrest.Config) (rest.Live, error) {
	hostConfig = hostrest.AddUserAgent(hostrest.CopyConfig(hostConfig), "live")
	hostConfig.QPS = -1
	host, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return rest.Live{}, fmt.Errorf("making a client of the cluster for what controllers have in memory: %w", err)
	}
	return rest.Live{
		Syncs:     registry.NewRows[*v1alpha1.Sync](parentsync.NewStore(), handle.FollowSyncs),
		HookCalls: registry.NewRows[*v1alpha1.HookCall](hookcall.NewStore(), handle.FollowHookCalls),
		HookCall:  handle.HookCall,
		Reviews:   host.AuthorizationV1().SubjectAccessReviews(),
		Resync:    handle.RequestSyncs,
	}, nil
}

// show shows it until stop is called or ctx ends.
func show(ctx context.Context, shown rest.Live) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { shown.Syncs.Run(ctx) })
	running.Go(func() { shown.HookCalls.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
