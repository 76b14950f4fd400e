// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// LeaderElection names the Lease of the host by which the processes agree on a leader.
type LeaderElection struct {
	Enabled bool
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity names this process. It must differ from those of the others.
	Identity string
}

// A leader renews its lease every retryPeriod. If it has not been able to for renewDeadline, it
// stops. Another process may take the lease after leaseDuration.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// lead calls work each time this process becomes the leader, with a context that ends when it no
// longer is. It releases the lease only after work has returned.
func lead(ctx context.Context, config Config, work func(context.Context, Config) error) error {
	client, err := kubernetes.NewForConfig(config.Host)
	if err != nil {
		return fmt.Errorf("make a client for the lease: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, config.LeaderElection.Namespace, config.LeaderElection.Name,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: config.LeaderElection.Identity})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	klog.FromContext(ctx).Info("Waiting to become the leader", "lease", klog.KRef(config.LeaderElection.Namespace, config.LeaderElection.Name))
	for ctx.Err() == nil {
		if err := term(ctx, config.LeaderElection.Name, lock, func(ctx context.Context) error { return work(ctx, config) }); err != nil {
			return err
		}
	}
	return nil
}

// term waits until this process is the leader, calls work, and returns when work has. The name is
// that of the lease in metrics.
func term(ctx context.Context, name string, lock resourcelock.Interface, work func(context.Context) error) error {
	elected, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var leading atomic.Bool
	result := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Name: name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leader context.Context) {
				leading.Store(true)
				defer giveUp()
				if ctx.Err() != nil {
					result <- nil
					return
				}
				klog.FromContext(ctx).Info("This process is the leader")
				leader, stop := context.WithCancel(leader)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				result <- work(leader)
			},
			OnNewLeader: func(identity string) {
				if identity != lock.Identity() {
					klog.FromContext(ctx).Info("Another process is the leader", "leader", identity)
				}
			},
			OnStoppedLeading: func() { klog.FromContext(ctx).Info("No longer the leader") },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		if !leading.Load() {
			giveUp()
		}
	})()
	elector.Run(elected)
	if !leading.Load() {
		return nil
	}
	err = <-result
	release(context.WithoutCancel(ctx), lock)
	return err
}

// release releases the lease if this process still has it. The elector cannot do this: it would
// release the lease before work has returned.
func release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == lock.Identity() {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		err = lock.Update(ctx, *record)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to release the lease, other processes wait until it expires")
	}
}
