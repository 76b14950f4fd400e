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
	"k8s.io/client-go/kubernetes"
)

// peerAddress returns where other replicas reach this process: the address of --advertise-address, or else of --bind-address, or else
// that of the interface by which the machine, or the Pod, reaches others.
func (o *Options) peerAddress(listener net.Listener) (string, error) {
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
	review, err := u.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	u.name = review.Status.UserInfo.Username
	return u.name, nil
}
