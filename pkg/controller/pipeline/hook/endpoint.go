// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"net/url"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// defaultTimeout is the deadline of a call where webhook.timeout sets no positive one.
const defaultTimeout = 10 * time.Second

// endpoint returns the URL that a webhook is called at.
func endpoint(webhook *v1alpha1.Webhook) (*url.URL, error) {
	return hookaddress.Address{URL: webhook.URL, Service: (*hookaddress.Service)(webhook.Service), Path: webhook.Path}.Parse()
}

// timeout returns the deadline of a call. It is ten seconds if the spec sets no positive one.
func timeout(spec *v1alpha1.Webhook) (time.Duration, error) {
	if spec.Timeout == nil {
		return defaultTimeout, nil
	}
	timeout, err := spec.Timeout.Parse()
	if err != nil {
		return 0, fmt.Errorf("invalid webhook config: timeout: %w", err)
	}
	if timeout <= 0 {
		return defaultTimeout, nil
	}
	return timeout, nil
}
