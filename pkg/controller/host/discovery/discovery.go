// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// UnknownTypeError tells that the host has no such resource now. It may get one.
type UnknownTypeError struct {
	APIVersion, Resource string
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("can't find resource %q in apiVersion %q: the host does not serve it; check the spelling (resource is the plural, in lower case), or create its CustomResourceDefinition",
		e.Resource, e.APIVersion)
}

// Error tells that the host did not answer what types it has.
type Error struct {
	APIVersion string
	Err        error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the host did not tell what apiVersion %q has: %v", e.APIVersion, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// SettleTime is how long after a type's definition changed the host may still tell
// the old one.
const SettleTime = 3 * time.Second

// Discovery knows the types of the host. What it has read of a group it keeps until
// a CustomResourceDefinition or APIService of the group changes.
type Discovery struct {
	client    *host.Client
	documents documents
	index     indexCache
	custom    *customTypes

	mu       sync.Mutex
	types    map[schema.GroupVersion]map[string]pipeline.Type
	lastChange  map[string]time.Time
	onChange func(group string)
}

// New makes a discovery that has read nothing. It calls onChange with the
// name of each API group whose types may have changed.
func New(client *host.Client, onChange func(group string)) *Discovery {
	return &Discovery{
		client:    client,
		documents: documents{byVersion: map[schema.GroupVersion]*document{}},
		types:     map[schema.GroupVersion]map[string]pipeline.Type{},
		custom:    newCustomTypes(),
		lastChange:   map[string]time.Time{},
		onChange:  onChange,
	}
}

// Resolve finds a resource by its plural name. If the host does not serve it, the
// error is an *UnknownTypeError; if the host could not tell, it is a *Error.
func (d *Discovery) Resolve(ctx context.Context, apiVersion, resource string) (pipeline.Type, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return pipeline.Type{}, fmt.Errorf("apiVersion %q: %w", apiVersion, err)
	}
	types := d.cached(version)
	if types == nil {
		asked := time.Now()
		if types, err = d.readTypes(ctx, version); err != nil {
			return pipeline.Type{}, &Error{APIVersion: apiVersion, Err: err}
		}
		d.remember(version, types, asked)
	}
	found, ok := types[resource]
	if !ok {
		d.forget(version)
		return pipeline.Type{}, &UnknownTypeError{APIVersion: apiVersion, Resource: resource}
	}
	return found, nil
}

func (d *Discovery) cached(version schema.GroupVersion) map[string]pipeline.Type {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.types[version]
}

// remember remembers what was read unless the group had just changed.
func (d *Discovery) remember(version schema.GroupVersion, types map[string]pipeline.Type, asked time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked.Sub(d.lastChange[version.Group]) > SettleTime {
		d.types[version] = types
	}
}

// isSettled tells whether the host, when it was asked, published the types of a group as
// they are, as far as is known.
func (d *Discovery) isSettled(group string, asked time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return asked.Sub(d.lastChange[group]) > schemasSettleTime
}

// forget makes the next Resolve ask the host: what is missing may be there by then.
func (d *Discovery) forget(version schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.types, version)
}

// readTypes asks the host for the types of one version. A version that is not there has none.
func (d *Discovery) readTypes(ctx context.Context, version schema.GroupVersion) (map[string]pipeline.Type, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	types := map[string]pipeline.Type{}
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
		types[resource.Name] = pipeline.Type{
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

// groupChanged forgets what is known of a group and spreads the word.
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

// ResolveInAnyVersion finds a resource as Resolve does, and in another version of its
// group if the host no longer serves it in the one that is named.
func (d *Discovery) ResolveInAnyVersion(ctx context.Context, apiVersion, resource string) (pipeline.Type, error) {
	found, err := d.Resolve(ctx, apiVersion, resource)
	unknown, ok := errors.AsType[*UnknownTypeError](err)
	if !ok {
		return found, err
	}
	versions, err := d.versionsOf(ctx, apiVersion)
	if err != nil {
		return pipeline.Type{}, &Error{APIVersion: apiVersion, Err: err}
	}
	for _, version := range versions {
		found, err := d.Resolve(ctx, version.GroupVersion, resource)
		if _, ok := errors.AsType[*UnknownTypeError](err); !ok {
			return found, err
		}
	}
	return pipeline.Type{}, unknown
}

// versionsOf asks the host for the versions of an API group. The core group and a group
// that is not there have none.
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
