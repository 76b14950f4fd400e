// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// customTimeout bounds the wait for the first list of the CustomResourceDefinitions.
const customTimeout = 10 * time.Second

// IsCustom reports whether a resource comes from a CustomResourceDefinition; the others are built in
// or served by another API server. It reads the informer of Follow. If the host does not list its
// CustomResourceDefinitions, the error is an *Error.
func (d *Discovery) IsCustom(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, customTimeout, fmt.Errorf("no answer within %s", customTimeout))
	defer cancel()
	definitions, err := d.custom.list(ctx)
	if err != nil {
		return false, &Error{APIVersion: resource.GroupVersion().String(), Err: fmt.Errorf("list CustomResourceDefinitions: %w", err)}
	}
	_, isThere, err := definitions.GetByKey(resource.GroupResource().String())
	return isThere, err
}

// customTypes are the CustomResourceDefinitions of the host, once they have been listed.
type customTypes struct {
	mu sync.Mutex
	// definitions is nil until they have been listed, and err why the host last refused to.
	definitions cache.Store
	err         error
	// changed is closed and replaced when one of these changes.
	changed chan struct{}
}

func newCustomTypes() *customTypes { return &customTypes{changed: make(chan struct{})} }

// list waits for the definitions until ctx ends or the host refuses to list them.
func (c *customTypes) list(ctx context.Context) (cache.Store, error) {
	for {
		c.mu.Lock()
		definitions, err, changed := c.definitions, c.err, c.changed
		c.mu.Unlock()
		if definitions != nil || err != nil {
			return definitions, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *customTypes) fill(definitions cache.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.definitions, c.err = definitions, nil
	close(c.changed)
	c.changed = make(chan struct{})
}

// refused is the informer's handler of errors. After the first list the host may well refuse a
// watch: the definitions stay as they are then.
func (c *customTypes) refused(ctx context.Context, reflector *cache.Reflector, err error) {
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.definitions != nil {
		return
	}
	c.err = err
	close(c.changed)
	c.changed = make(chan struct{})
}
