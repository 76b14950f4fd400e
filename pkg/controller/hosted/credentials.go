// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// Connect makes the hooks read their credentials. It must be called before Run. Events about the
// credentials, and about the types of the controller, are about the object. The error is a
// *hook.SourceError if a Secret or ConfigMap is missing or invalid.
func (c *Controller) Connect(ctx context.Context, object runtime.Object) error {
	logger := klog.FromContext(ctx)
	c.typeWarnings.controller = object
	return c.connect(ctx, func(webhook *hook.Webhook, err error) {
		before := c.staleCredentials.set(webhook, err)
		if err == nil {
			logger.Info("Credentials of a hook are valid again", "previousError", before)
			return
		}
		logger.Error(err, "Failed to take over the credentials of a hook, the last good ones stay in use")
		c.Events.CredentialsStale(object, err)
	})
}

// ConnectForPreviews is Connect for a controller that is not run. Nothing is told of its credentials.
func (c *Controller) ConnectForPreviews(ctx context.Context) error {
	return c.connect(ctx, func(*hook.Webhook, error) {})
}

// connect makes the hooks read their credentials. It calls stale when those of a hook become unusable, and
// without an error when they are usable again.
func (c *Controller) connect(ctx context.Context, stale func(*hook.Webhook, error)) error {
	for _, webhook := range c.hooks.all() {
		if err := webhook.Connect(ctx, func(err error) { stale(webhook, err) }); err != nil {
			return err
		}
	}
	return nil
}

// staleCredentials are the hooks that are called with older credentials than the host has, and why.
// Its methods may be called concurrently.
type staleCredentials struct {
	mu     sync.Mutex
	byHook map[*hook.Webhook]error
}

// set notes why the credentials of a hook are stale; nil if they are not. It returns what was noted
// before.
func (s *staleCredentials) set(webhook *hook.Webhook, err error) (before error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHook == nil {
		s.byHook = map[*hook.Webhook]error{}
	}
	before = s.byHook[webhook]
	if err == nil {
		delete(s.byHook, webhook)
	} else {
		s.byHook[webhook] = err
	}
	return before
}

// err returns why credentials are stale; nil if none are.
func (s *staleCredentials) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, err := range s.byHook {
		all = append(all, err)
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}
