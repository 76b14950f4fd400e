// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The resources that bring types into the host. The name of each of their objects ends
// in the group it is about, after the first dot.
var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// Follow watches the objects that define the types of the host until ctx ends, and forgets what is
// known of an API group when one of them changes. It is called once.
func (d *Discovery) Follow(ctx context.Context, config *rest.Config) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for the host's metadata: %w", err)
	}
	informers := metadatainformer.NewSharedInformerFactoryWithOptions(client, 0, metadatainformer.WithTransform(keepNameAndTimes))
	for _, definer := range []schema.GroupVersionResource{definitions, apiServices} {
		_, err := informers.ForResource(definer).Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    d.onDefinitionAdded,
			UpdateFunc: func(_, after any) { d.onDefinitionChanged(after) },
			DeleteFunc: d.onDefinitionChanged,
		})
		if err != nil {
			return fmt.Errorf("follow %s: %w", definer.GroupResource(), err)
		}
	}
	custom := informers.ForResource(definitions).Informer()
	if err := custom.SetWatchErrorHandlerWithContext(d.custom.onWatchError); err != nil {
		return fmt.Errorf("follow %s: %w", definitions.GroupResource(), err)
	}
	informers.Start(ctx.Done())
	defer informers.Shutdown()
	if cache.WaitForCacheSync(ctx.Done(), custom.HasSynced) {
		d.custom.setDefinitions(custom.GetStore())
	}
	<-ctx.Done()
	return nil
}

// keepNameAndTimes leaves of an object its name and the times that lastWrite reads.
func keepNameAndTimes(obj any) (any, error) {
	if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
		last := metav1.NewTime(lastWrite(object))
		object.Labels, object.Annotations, object.OwnerReferences = nil, nil, nil
		object.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &last}}
	}
	return obj, nil
}

// recentlyWritten is how long ago a definition that was there before us was last written if the host has certainly
// taken it in, and told so to whoever has asked for its types meanwhile. It is far above SettleTime, since the
// host's clock is another.
const recentlyWritten = time.Minute

// onDefinitionAdded is also told of the definitions that are there at the start, which changes nothing. If
// it did, for a moment the host would be asked for the types of each controller, and then all
// controllers would be looked at again.
func (d *Discovery) onDefinitionAdded(obj any, isInInitialList bool) {
	if there, ok := obj.(metav1.Object); ok && isInInitialList && time.Since(lastWrite(there)) > recentlyWritten {
		return
	}
	d.onDefinitionChanged(obj)
}

// lastWrite is when an object was last written, of which the host takes a note for each who writes it.
func lastWrite(object metav1.Object) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, by := range object.GetManagedFields() {
		if by.Time != nil && by.Time.After(last) {
			last = by.Time.Time
		}
	}
	return last
}

func (d *Discovery) onDefinitionChanged(obj any) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return
	}
	if _, group, ok := strings.Cut(name.Name, "."); ok {
		d.groupChanged(group)
	}
}

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

func (c *customTypes) setDefinitions(definitions cache.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.definitions, c.err = definitions, nil
	close(c.changed)
	c.changed = make(chan struct{})
}

// onWatchError is the informer's handler of errors. After the first list the host may well refuse a
// watch: the definitions stay as they are then.
func (c *customTypes) onWatchError(ctx context.Context, reflector *cache.Reflector, err error) {
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
