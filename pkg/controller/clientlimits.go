// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// ClientLimits bound the rate of requests to the host, of all controllers together.
// Events have limits of their own.
type ClientLimits struct {
	// QPS is how many requests a second there may be in the long run; zero is no limit.
	QPS float32
	// Burst is how many there may be at once. At least 1 if there is a limit.
	Burst int
}

// applyTo makes the clients of a configuration, and of its copies, share one limit.
func (l ClientLimits) applyTo(config *rest.Config) {
	config.QPS, config.RateLimiter = -1, nil
	if l.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(l.QPS, l.Burst)
	}
}
