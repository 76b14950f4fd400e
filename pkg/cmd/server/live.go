// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	hostrest "k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/mirror"
	"github.com/metacontroller/metacontroller-apiserver/pkg/peers"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/hookcall"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/parentsync"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// live shows in the API what the controllers of all replicas have in memory.
type live struct {
	rest.Live
	handle *controller.Handle
	trust  *peers.Trust
	// user returns the user that this process is at the host.
	user func(context.Context) (string, error)
}

func newLive(handle *controller.Handle, hostConfig *hostrest.Config) (*live, error) {
	hostConfig = hostrest.AddUserAgent(hostrest.CopyConfig(hostConfig), "live")
	hostConfig.QPS = -1
	client, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster for what controllers have in memory: %w", err)
	}
	user := &ownUser{client: client}
	l := &live{handle: handle, trust: peers.NewTrust(hostConfig, client.Discovery().RESTClient(), apiServiceName), user: user.get}
	l.Live = rest.Live{
		Syncs: mirror.New(parentsync.NewStore(), mirror.Origins[*v1alpha1.Sync]{
			Local: mirror.FollowFunc[*v1alpha1.Sync](handle.FollowSyncs), Others: others(l, peers.Peer.Syncs),
		}),
		HookCalls: mirror.New(hookcall.NewStore(), mirror.Origins[*v1alpha1.HookCall]{
			Local: mirror.FollowFunc[*v1alpha1.HookCall](handle.FollowHookCalls), Others: others(l, peers.Peer.HookCalls),
		}),
		HookCall: l.hookCall,
		Reviews:  client.AuthorizationV1().SubjectAccessReviews(),
		Resync:   l.resync,
	}
	return l, nil
}

// start shows it until stop is called or ctx ends.
func (l *live) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Syncs.Run(ctx) })
	running.Go(func() { l.HookCalls.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		l.trust.Close()
	}
}

// peers returns the other replicas, in the order of their names.
func (l *live) peers(ctx context.Context) ([]peers.Peer, error) {
	addresses, err := l.handle.Peers(ctx)
	if err != nil {
		return nil, err
	}
	var all []peers.Peer
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		all = append(all, peers.New(name, addresses[name], l.trust.Connect))
	}
	return all, nil
}

// others returns the function that returns what other replicas have.
func others[T memory.Object](l *live, of func(peers.Peer) mirror.Origin[T]) func(context.Context) (map[string]mirror.Origin[T], error) {
	return func(ctx context.Context) (map[string]mirror.Origin[T], error) {
		all, err := l.peers(ctx)
		origins := map[string]mirror.Origin[T]{}
		for _, peer := range all {
			origins[peer.Name] = of(peer)
		}
		return origins, err
	}
}

// hookCall returns a call of a replica with its bodies.
func (l *live) hookCall(ctx context.Context, replica string, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error) {
	own, err := l.handle.Replica(ctx)
	if err != nil {
		return nil, nil, err
	}
	if replica == own {
		return l.handle.HookCall(ctx, name)
	}
	all, err := l.peers(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, peer := range all {
		if peer.Name == replica {
			return peer.HookCall(ctx, name)
		}
	}
	return nil, nil, nil
}

// resync has parents of a controller synced, in whatever replicas run it.
func (l *live) resync(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (found v1alpha1.ResyncRequestStatus, err error) {
	all, err := l.peers(ctx)
	if err != nil {
		return found, err
	}
	answers, errs := make([]v1alpha1.ResyncRequestStatus, len(all)+1), make([]error, len(all)+1)
	var asking sync.WaitGroup
	asking.Go(func() { answers[0], errs[0] = l.handle.RequestSyncs(ctx, of, spec, onlyCount) })
	for i, peer := range all {
		asking.Go(func() { answers[i+1], errs[i+1] = peer.RequestSyncs(ctx, of, spec, onlyCount) })
	}
	asking.Wait()
	if errs[0] != nil {
		return found, errs[0]
	}
	for i, answer := range answers {
		found.Parents += answer.Parents
		found.Paused += answer.Paused
		if errs[i] != nil {
			found.Notes = append(found.Notes, fmt.Sprintf("if replica %s runs the controller, its parents are not synced: %v", all[i-1].Name, errs[i]))
		}
	}
	return found, nil
}
