// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
)

// Replicas says with whom this process shares the controllers.
type Replicas struct {
	// Enabled is true if there may be others. Without them, this process runs all controllers and has no Lease.
	Enabled bool
	// Namespace is that of the Leases, one for each process.
	Namespace string
	// Group names the processes that share the controllers. Their Leases begin with it.
	Group string
	// Address is where other replicas reach this process: host and port.
	Address string
	// Process names this process, as in the name of an object.
	Process string
}

// rejoinPeriod is how long a process that could not make its Lease waits until it tries again.
const rejoinPeriod = 2 * time.Second

// term is the time in which this process is a replica.
type term struct {
	membership *replicas.Membership
	metrics    *lifecycle.SharingMetrics
}

// runAsReplica runs the controllers that fall to this process, as often as it has a Lease, until ctx ends.
func runAsReplica(ctx context.Context, config Config) error {
	host := rest.CopyConfig(config.Host)
	host.QPS = -1 // renewals must not wait for reads of the Leases of others
	client, err := kubernetes.NewForConfig(host)
	if err != nil {
		return fmt.Errorf("make a client for Leases: %w", err)
	}
	metrics, err := lifecycle.NewSharingMetrics(config.Metrics)
	if err != nil {
		return err
	}
	joining := replicas.Config{Client: client, Namespace: config.Replicas.Namespace, Group: config.Replicas.Group, Address: config.Replicas.Address, Process: config.Replicas.Process}
	for ctx.Err() == nil {
		err := replicas.Join(ctx, joining, func(ctx context.Context, membership *replicas.Membership) error {
			return run(ctx, config, &term{membership, metrics})
		})
		if refused, ok := errors.AsType[*replicas.JoinError](err); ok {
			klog.FromContext(ctx).Error(refused, "This process runs no controllers, and tries again", "namespace", joining.Namespace)
			pause(ctx, rejoinPeriod)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, period time.Duration) {
	select {
	case <-time.After(period):
	case <-ctx.Done():
	}
}
