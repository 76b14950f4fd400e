// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// SettleTime is the time after a change of the definition of a type for which the host may still serve the old
// discovery document.
const SettleTime = 3 * time.Second

// Discovery knows the types of the host. It keeps the types of an API group until a CustomResourceDefinition or an
// APIService of the group changes.
type Discovery struct {
	client    *host.Client
	documents documents
	index     indexCache
	catalog   catalog
	custom    *customTypes
	onChange  func(group string)

	mu sync.Mutex
	// types are the types of a version by resource.
	types map[schema.GroupVersion]map[string]object.Type
	// lastChange is the time at which a group was last found to have changed.
	lastChange map[string]time.Time
}

// New returns a Discovery that has read nothing yet. It calls onChange with the name of each API
// group whose types may have changed.
func New(client *host.Client, onChange func(group string)) *Discovery {
	return &Discovery{
		client:     client,
		documents:  documents{byVersion: map[schema.GroupVersion]*document{}},
		types:      map[schema.GroupVersion]map[string]object.Type{},
		custom:     newCustomTypes(),
		lastChange: map[string]time.Time{},
		onChange:   onChange,
	}
}

// Resolve returns the type of a resource, which is named in the plural. If the host does not serve the resource, the
// error is an *UnknownTypeError. If the host does not respond, it is an *Error. Types that are InMemory are refused.
func (d *Discovery) Resolve(ctx context.Context, apiVersion, resource string) (object.Type, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return object.Type{}, fmt.Errorf("apiVersion %q: %w", apiVersion, err)
	}
	if v1alpha1.InMemory(version.WithResource(resource).GroupResource()) {
		return object.Type{}, fmt.Errorf("resource %q in apiVersion %q %s", resource, apiVersion, v1alpha1.NotForSyncs)
	}
	types := d.cached(version)
	if types == nil {
		requestedAt := time.Now()
		if types, err = d.readTypes(ctx, version); err != nil {
			return object.Type{}, &Error{APIVersion: apiVersion, Err: err}
		}
		d.remember(version, types, requestedAt)
	}
	found, ok := types[resource]
	if !ok {
		d.forget(version)
		return object.Type{}, &UnknownTypeError{APIVersion: apiVersion, Resource: resource}
	}
	return found, nil
}

func (d *Discovery) cached(version schema.GroupVersion) map[string]object.Type {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.types[version]
}

// remember keeps the types of a version, unless the group had just changed when they were requested: then the host
// may have sent the old types.
func (d *Discovery) remember(version schema.GroupVersion, types map[string]object.Type, requestedAt time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if requestedAt.Sub(d.lastChange[version.Group]) > SettleTime {
		d.types[version] = types
	}
}

// areDocumentsCurrent reports whether the OpenAPI documents of a group that were requested at that time were up to
// date, as far as is known.
func (d *Discovery) areDocumentsCurrent(group string, requestedAt time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return requestedAt.Sub(d.lastChange[group]) > schemasSettleTime
}

// forget makes the next Resolve read from the host again, which may then serve a missing resource.
func (d *Discovery) forget(version schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.types, version)
}

// readTypes reads the types of a version from the host. It returns none if the version does not
// exist or would change the path: hooks choose versions.
func (d *Discovery) readTypes(ctx context.Context, version schema.GroupVersion) (map[string]object.Type, error) {
	if len(content.IsPathSegmentName(version.Group)) > 0 || len(content.IsPathSegmentName(version.Version)) > 0 {
		return nil, nil
	}
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	types := map[string]object.Type{}
	body, err := d.client.Get(ctx, path, nil)
	if apierrors.IsNotFound(err) {
		return types, nil
	}
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	for _, resource := range list.APIResources {
		if strings.Contains(resource.Name, "/") {
			continue
		}
		types[resource.Name] = object.Type{
			GroupVersionResource: version.WithResource(resource.Name),
			Kind:                 resource.Kind,
			Namespaced:           resource.Namespaced,
		}
	}
	for _, resource := range list.APIResources {
		parent, subresource, _ := strings.Cut(resource.Name, "/")
		if known, ok := types[parent]; ok && subresource == "status" {
			known.StatusSubresource = true
			types[parent] = known
		}
	}
	return types, nil
}

// groupChanged drops all data about a group and calls onChange.
func (d *Discovery) groupChanged(group string) {
	d.mu.Lock()
	d.lastChange[group] = time.Now()
	for version := range d.types {
		if version.Group == group {
			delete(d.types, version)
		}
	}
	d.mu.Unlock()
	d.documents.markStale(group)
	d.onChange(group)
}

// ResolveInAnyVersion does what Resolve does. If the host does not serve the resource in the
// version of apiVersion, it looks in the other versions of the API group.
func (d *Discovery) ResolveInAnyVersion(ctx context.Context, apiVersion, resource string) (object.Type, error) {
	found, err := d.Resolve(ctx, apiVersion, resource)
	unknown, ok := errors.AsType[*UnknownTypeError](err)
	if !ok {
		return found, err
	}
	versions, err := d.versionsOf(ctx, apiVersion)
	if err != nil {
		return object.Type{}, &Error{APIVersion: apiVersion, Err: err}
	}
	for _, version := range versions {
		found, err := d.Resolve(ctx, version.GroupVersion, resource)
		if _, ok := errors.AsType[*UnknownTypeError](err); !ok {
			return found, err
		}
	}
	return object.Type{}, unknown
}

// versionsOf reads the versions of an API group from the host. It returns none for the core group
// and for a group that does not exist.
func (d *Discovery) versionsOf(ctx context.Context, apiVersion string) ([]metav1.GroupVersionForDiscovery, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || version.Group == "" {
		return nil, err
	}
	body, err := d.client.Get(ctx, "/apis/"+version.Group, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var group metav1.APIGroup
	err = json.Unmarshal(body, &group)
	return group.Versions, err
}

// Refresh reads the types in use again every interval, until ctx ends. The types of an aggregated
// API server may change while its APIService does not, and then Follow does not see it.
func (d *Discovery) Refresh(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, version := range d.knownVersions() {
			d.refresh(ctx, version)
		}
	}
}

// knownVersions returns the versions whose types have been read.
func (d *Discovery) knownVersions() []schema.GroupVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.types))
}

// refresh reads the types of a version and compares them with the known ones. If the host does not
// answer, nothing changes.
func (d *Discovery) refresh(ctx context.Context, version schema.GroupVersion) {
	known := d.cached(version)
	types, err := d.readTypes(ctx, version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read the types in use again", "apiVersion", version, "err", err)
		return
	}
	if known != nil && !maps.Equal(known, types) {
		d.groupChanged(version.Group)
	}
}
