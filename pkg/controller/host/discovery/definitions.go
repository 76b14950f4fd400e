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

// The resources whose objects define types of the host. In the name of each object, the API group
// follows the first dot.
var (
	definitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// Follow watches the objects that define types until ctx ends. When one of them changes, it drops all data about the
// API group. Call it once.
func (d *Discovery) Follow(ctx context.Context, config *rest.Config) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client for the metadata of the cluster: %w", err)
	}
	informers := metadatainformer.NewSharedInformerFactoryWithOptions(client, 0,
		metadatainformer.WithTransform(keepNameAndTimes))
	for _, definer := range []schema.GroupVersionResource{definitions, apiServices} {
		_, err := informers.ForResource(definer).Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    d.onDefinitionAdded,
			UpdateFunc: func(_, after any) { d.onDefinitionChanged(after) },
			DeleteFunc: d.onDefinitionChanged,
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", definer.GroupResource(), err)
		}
	}
	custom := informers.ForResource(definitions).Informer()
	if err := custom.SetWatchErrorHandlerWithContext(d.custom.onWatchError); err != nil {
		return fmt.Errorf("watch %s: %w", definitions.GroupResource(), err)
	}
	informers.Start(ctx.Done())
	defer informers.Shutdown()
	if cache.WaitFor(ctx, "", custom.HasSyncedChecker()) {
		d.custom.set(custom.GetStore(), nil)
	}
	<-ctx.Done()
	return nil
}

// keepNameAndTimes removes all metadata of an object except its name and the times that lastWrite
// reads.
func keepNameAndTimes(obj any) (any, error) {
	if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
		last := metav1.NewTime(lastWrite(object))
		object.Labels, object.Annotations, object.OwnerReferences = nil, nil, nil
		object.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &last}}
	}
	return obj, nil
}

// recentlyWritten is the time after its last write for which a definition of the initial list counts as a change.
// After that time the host certainly serves the types that it defines, and nothing older can have been read. It is
// much longer than SettleTime, because the clock of the host may differ from ours.
const recentlyWritten = time.Minute

// onDefinitionAdded handles a new definition. A definition of the initial list does not count as a change, unless it
// was written recently. Otherwise all types would be read again after the start, and all controllers checked again.
func (d *Discovery) onDefinitionAdded(obj any, isInInitialList bool) {
	definition, ok := obj.(metav1.Object)
	if ok && isInInitialList && time.Since(lastWrite(definition)) > recentlyWritten {
		return
	}
	d.onDefinitionChanged(obj)
}

// lastWrite returns when an object was last written. The host records the time of the last write of
// each field manager.
func lastWrite(object metav1.Object) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, manager := range object.GetManagedFields() {
		if manager.Time != nil && manager.Time.After(last) {
			last = manager.Time.Time
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

// IsCustom reports whether a resource comes from a CustomResourceDefinition. Other resources are
// built in or served by another API server. It reads the informer of Follow and waits for its first
// list. If the host refuses to list CustomResourceDefinitions, the error is an *Error.
func (d *Discovery) IsCustom(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, customTimeout, fmt.Errorf("no answer within %s", customTimeout))
	defer cancel()
	definitions, err := d.custom.list(ctx)
	if err != nil {
		err = fmt.Errorf("list CustomResourceDefinitions: %w", err)
		return false, &Error{APIVersion: resource.GroupVersion().String(), Err: err}
	}
	_, isThere, err := definitions.GetByKey(resource.GroupResource().String())
	return isThere, err
}

// IsBeingDeleted reports whether a resource comes from a CustomResourceDefinition that is being deleted. It does not
// wait: it also returns false while that is not known.
func (d *Discovery) IsBeingDeleted(resource schema.GroupResource) bool {
	definition := d.custom.get(resource)
	return definition != nil && definition.GetDeletionTimestamp() != nil
}

// customTypes has the CustomResourceDefinitions of the host once they have been listed.
type customTypes struct {
	mu sync.Mutex
	// definitions is nil until they have been listed. err is the error of the last list; nil if it succeeded.
	definitions cache.Store
	err         error
	// changed is closed and replaced when definitions or err changes.
	changed chan struct{}
}

// get returns the metadata of a type's definition. It does not wait: it also returns nil while the definitions are not
// known.
func (c *customTypes) get(resource schema.GroupResource) metav1.Object {
	c.mu.Lock()
	definitions := c.definitions
	c.mu.Unlock()
	if definitions == nil {
		return nil
	}
	found, _, err := definitions.GetByKey(resource.String())
	definition, ok := found.(metav1.Object)
	if err != nil || !ok {
		return nil
	}
	return definition
}

func newCustomTypes() *customTypes { return &customTypes{changed: make(chan struct{})} }

// list returns the definitions. It waits until they have been listed, the host refuses it, or ctx
// ends.
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

// onWatchError handles errors of the informer.
func (c *customTypes) onWatchError(ctx context.Context, reflector *cache.Reflector, err error) {
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
	c.set(nil, err)
}

// set records the definitions, or why they cannot be listed. After the first list it does nothing, because the informer
// keeps its definitions while the host refuses a watch.
func (c *customTypes) set(definitions cache.Store, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.definitions != nil {
		return
	}
	c.definitions, c.err = definitions, err
	close(c.changed)
	c.changed = make(chan struct{})
}
