// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/identity"
)

// claimRetryPeriod is the time after which a claim that failed is tried again.
const claimRetryPeriod = time.Second

// storageIdentity finds out the ID of the storage, and makes sure that it is of the cluster.
type storageIdentity struct {
	host    kubernetes.Interface
	storage storagebackend.Config
	// place is where the etcd inside this process is; empty for another one.
	place string
}

// claim returns the ID. The error may be that the storage is of another cluster.
func (i *storageIdentity) claim(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hostRequestTimeout)
	defer cancel()
	system, err := i.host.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err == nil && system.UID == "" {
		err = errors.New("it has no UID")
	}
	if err != nil {
		return "", fmt.Errorf("read namespace %s, whose UID identifies the cluster: %w", metav1.NamespaceSystem, err)
	}
	client, closeClient, err := etcdClient(ctx, i.storage)
	if err != nil {
		return "", err
	}
	defer closeClient()
	return identity.Storage{Client: client, Prefix: i.storage.Prefix, Place: i.place}.Claim(ctx, system.UID)
}

// await returns the ID when it is known, or if ctx ends. It returns an error if the storage is of another cluster.
// It calls report with the reason while the ID is not known.
func (i *storageIdentity) await(ctx context.Context, report func(error)) (id string, err error) {
	logged := ""
	err = wait.PollUntilContextCancel(ctx, claimRetryPeriod, true, func(ctx context.Context) (bool, error) {
		var err error
		id, err = i.claim(ctx)
		if identity.IsOfOtherCluster(err) {
			return false, err
		}
		if err != nil {
			report(err)
		}
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			klog.FromContext(ctx).Error(err, "No controllers run until it is known to which cluster the storage belongs")
		}
		return err == nil, nil
	})
	if ctx.Err() != nil {
		return "", nil
	}
	return id, err
}
