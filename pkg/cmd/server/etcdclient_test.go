// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
)

// It would serve some of the objects, and take the others for deleted.
func TestAServerWaitsForAnUnfinishedMoveToItsEtcd(t *testing.T) {
	storage := startEtcd(t)
	theirs, err := clientv3.New(clientv3.Config{Endpoints: []string{storage.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	const mark = defaultEtcdPrefix + "/moving"
	if _, err := theirs.Put(t.Context(), mark, "from /data"); err != nil {
		t.Fatal(err)
	}
	var goesOn atomic.Bool
	config := serverConfig{dataDir: newDataDir(t), given: []string{"shutdown-delay-duration"}, options: func(o *Options) {
		o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{storage.Endpoint()}
	}, adjust: func(*apiserver.Config) { goesOn.Store(true) }}
	waiting := launch(t, config)
	<-time.After(2 * time.Second)
	if goesOn.Load() {
		t.Error("the server starts with what has come")
	}
	if err := waiting.shutDown(t); !errors.Is(err, context.Canceled) {
		t.Errorf("the server that waits does not just stop: %v", err)
	}

	server := launch(t, config)
	if _, err := theirs.Delete(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if !goesOn.Load() {
			return errors.New("the server waits")
		}
		return nil
	})
	_ = server.shutDown(t)
}
