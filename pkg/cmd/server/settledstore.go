// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/settled"
)

// settledStore opens where controllers remember which parents are settled: beside the objects, in the same
// etcd. The caller closes it after the controllers have ended.
func settledStore(ctx context.Context, storage storagebackend.Config) (_ *settled.Store, closeStore func(), err error) {
	client, closeClient, err := etcdClient(ctx, storage)
	if err != nil {
		return nil, nil, err
	}
	return settled.New(client, storage.Prefix), closeClient, nil
}
