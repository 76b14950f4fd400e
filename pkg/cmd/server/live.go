// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	hostrest "k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/mirror"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/hookcall"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/parentsync"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// live shows in the API what the controllers have in memory.
type live struct{ rest.Live }

func newLive(handle *controller.Handle, hostConfig *hostrest.Config) (*live, error) {
	hostConfig = hostrest.AddUserAgent(hostrest.CopyConfig(hostConfig), "live")
	hostConfig.QPS = -1
	reviews, err := authorizationv1.NewForConfig(hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster for reviews of rights: %w", err)
	}
	return &live{rest.Live{
		Syncs:     mirror.New(parentsync.NewStore(), mirror.Origins[*v1alpha1.Sync]{Local: mirror.FollowFunc[*v1alpha1.Sync](handle.FollowSyncs)}),
		HookCalls: mirror.New(hookcall.NewStore(), mirror.Origins[*v1alpha1.HookCall]{Local: mirror.FollowFunc[*v1alpha1.HookCall](handle.FollowHookCalls)}),
		HookCall: func(ctx context.Context, _ string, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error) {
			return handle.HookCall(ctx, name)
		},
		Reviews: reviews.SubjectAccessReviews(),
		Resync: func(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (int, []string, error) {
			parents, err := handle.RequestSyncs(ctx, of, spec, onlyCount)
			return parents, nil, err
		},
	}}, nil
}

// start shows it until stop is called or ctx ends.
func (l *live) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Syncs.Run(ctx) })
	running.Go(func() { l.HookCalls.Run(ctx) })
	return func() { cancel(); running.Wait() }
}
