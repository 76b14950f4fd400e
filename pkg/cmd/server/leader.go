// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
)

// stand has this process stand for the Lease, and has the server pass on what only the leader can answer. It returns
// nil without --leader-election.
func (o *Options) stand(config *apiserver.Config) (*leader.Election, error) {
	if !o.Controllers.LeaderElection {
		return nil, nil
	}
	address, err := o.replicaAddress(config.GenericConfig.SecureServing.Listener)
	if err != nil {
		return nil, err
	}
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config.GenericConfig.ClientConfig), "leader-election")
	hostConfig.QPS, hostConfig.Timeout = -1, leader.RequestTimeout
	client, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster for the Lease: %w", err)
	}
	election := leader.New(leader.Config{
		Client: client.CoordinationV1(), Namespace: o.Controllers.LeaseNamespace, Name: o.Controllers.LeaseName,
		Process: o.Controllers.process, Address: address, Exclusive: o.embedded(),
	})
	config.ExtraConfig.LeaderProxy = &apiserver.LeaderProxy{
		Leader: election, Trust: apiserver.NewTrust(hostConfig, client.Discovery().RESTClient(), apiServiceName),
		User: (&ownUser{client: client}).get,
	}
	config.GenericConfig.AddReadyzChecks(healthz.NamedCheck("lease", election.Check))
	return election, nil
}

// replicaAddress returns where other replicas reach this process: the address of --advertise-address, or else of
// --bind-address, or else that of the interface by which the machine, or the Pod, reaches others.
func (o *Options) replicaAddress(listener net.Listener) (string, error) {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "", fmt.Errorf("finding out where this process listens: %w", err)
	}
	ip := o.ServerRun.AdvertiseAddress
	if len(ip) == 0 || ip.IsUnspecified() {
		ip = o.Recommended.SecureServing.BindAddress
	}
	if len(ip) == 0 || ip.IsUnspecified() {
		if ip, err = utilnet.ResolveBindAddress(ip); err != nil {
			return "", fmt.Errorf("finding out where other replicas reach this process; --advertise-address says it: %w", err)
		}
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// ownUser finds out which user this process is at the host. All replicas are the same one.
type ownUser struct {
	client kubernetes.Interface

	mu   sync.Mutex
	name string
}

// get returns the name of the user. It asks the host until that has answered.
func (u *ownUser) get(ctx context.Context) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.name != "" {
		return u.name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostRequestTimeout)
	defer cancel()
	reviews := u.client.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	u.name = review.Status.UserInfo.Username
	return u.name, nil
}
