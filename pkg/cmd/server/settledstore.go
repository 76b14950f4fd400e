// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/settled"
)

// settledStore opens where controllers remember which parents are settled: beside the objects, in the same
// etcd. The caller closes it after the controllers have ended.
func settledStore(ctx context.Context, storage storagebackend.Config) (_ *settled.Store, closeStore func(), err error) {
	var config *tls.Config
	if of := storage.Transport; of.TrustedCAFile != "" || of.CertFile != "" {
		info := transport.TLSInfo{TrustedCAFile: of.TrustedCAFile, CertFile: of.CertFile, KeyFile: of.KeyFile}
		if config, err = info.ClientConfig(); err != nil {
			return nil, nil, fmt.Errorf("certificates for the etcd: %w", err)
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: storage.Transport.ServerList, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, fmt.Errorf("reach the etcd: %w", err)
	}
	return settled.New(client, storage.Prefix), func() {
		if err := client.Close(); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to close the connections to the etcd")
		}
	}, nil
}
