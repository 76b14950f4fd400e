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
)

// etcdClient returns a client of the etcd that objects are stored in, and the function that closes it.
func etcdClient(ctx context.Context, storage storagebackend.Config) (_ *clientv3.Client, closeClient func(), err error) {
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
	return client, func() {
		if err := client.Close(); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to close the connections to the etcd")
		}
	}, nil
}
