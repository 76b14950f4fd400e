// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// awaitPeriod is how often Await asks.
const awaitPeriod = time.Second

// Await returns when an etcd can be reached and no move to it is unfinished. It logs what it waits for. A server that
// started earlier would serve some of the objects, and take the others for deleted.
func Await(ctx context.Context, client *clientv3.Client, prefix string) error {
	logger := klog.FromContext(ctx)
	for said := ""; ; {
		mark, err := readMark(ctx, client, etcd.KeyPrefix(prefix))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && mark == "":
			return nil
		case err != nil && said != err.Error():
			said = err.Error()
			logger.Error(err, "The etcd cannot be reached: the server starts when it can", "servers", client.Endpoints())
		case err == nil && said != mark:
			said = mark
			logger.Error(nil, "Objects are being moved to the etcd, and that has not finished: the server starts when it has. If the move was "+
				"ended, run `metacontroller-apiserver storage move` again, which begins anew", "servers", client.Endpoints(), "move", mark)
		}
		select {
		case <-ctx.Done():
		case <-time.After(awaitPeriod):
		}
	}
}
