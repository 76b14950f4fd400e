// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/klog/v2"
)

// limitMemory sets the memory limit of Go's runtime to nine tenths of that of the cgroup, so that Go collects garbage
// more often before the kernel would end the process. The environment variable GOMEMLIMIT takes precedence.
func limitMemory(ctx context.Context) {
	logger := klog.FromContext(ctx)
	switch limit, err := memlimit.Set(memlimit.WithRatio(0.9)); {
	case err != nil:
		logger.V(2).Info("Go's memory is not limited, because the limit of the cgroup cannot be read", "err", err)
	case limit < math.MaxInt64:
		logger.Info("Limited Go's memory", "bytes", limit)
	}
}
