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

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// UnknownTypeError is the error for a resource that the host does not serve at the moment.
type UnknownTypeError struct {
	APIVersion, Resource string
}

func (e *UnknownTypeError) Error() string { return e.with("") }

// with returns the text of the error with a hint; empty for the general one.
func (e *UnknownTypeError) with(hint string) string {
	if hint == "" {
		hint = "check the spelling (resource is the plural, in lower case)"
		if !e.isOfKubernetes() {
			hint += ", or create its CustomResourceDefinition"
		}
	}
	return fmt.Sprintf("can't find resource %q in apiVersion %q: the cluster does not serve it; %s",
		e.Resource, e.APIVersion, hint)
}

// isOfKubernetes reports whether the API group of the type is built into Kubernetes. No CustomResourceDefinition adds
// types to such a group. The name alone does not show it: the group gateway.networking.k8s.io has nothing but
// CustomResourceDefinitions.
func (e *UnknownTypeError) isOfKubernetes() bool {
	version, err := schema.ParseGroupVersion(e.APIVersion)
	return err == nil && scheme.Scheme.IsGroupRegistered(version.Group)
}

// Error is the error if the types of the host could not be read.
type Error struct {
	APIVersion string
	Err        error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the cluster did not return the resources of apiVersion %q: %v", e.APIVersion, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// catalogMaxAge is the time for which the list of all types is reused to find similar names. Retries of many
// controllers then read it once.
const catalogMaxAge = time.Minute

// catalogTimeout bounds the wait for the list of all types, and for a definition.
const catalogTimeout = 5 * time.Second

// catalog has the types of all API groups. It is read only when a type is missing.
type catalog struct {
	mu     sync.Mutex
	types  []*metav1.APIResourceList
	readAt time.Time
}

// WithHint returns the error of Resolve. If the host does not serve the type, the error says why not, or suggests a type
// with a similar name.
func (d *Discovery) WithHint(ctx context.Context, err error) error {
	if unknown, ok := errors.AsType[*UnknownTypeError](err); ok {
		if hint := d.hint(ctx, unknown); hint != "" {
			return &hintError{err: err, text: strings.Replace(err.Error(), unknown.Error(), unknown.with(hint), 1)}
		}
	}
	return err
}

// hintError is an error about an unknown type, with a hint.
type hintError struct {
	err  error
	text string
}

func (e *hintError) Error() string { return e.text }

func (e *hintError) Unwrap() error { return e.err }

// hint returns what the host knows about a type that it does not serve; "" if nothing.
func (d *Discovery) hint(ctx context.Context, unknown *UnknownTypeError) string {
	version, err := schema.ParseGroupVersion(unknown.APIVersion)
	if err != nil {
		return ""
	}
	wanted := version.WithResource(unknown.Resource)
	meant := nearest.Resource(wanted, d.allTypes(ctx))
	if meant == "" && d.custom.get(wanted.GroupResource()) == nil {
		return ""
	}
	defined, conflict := nearest.Defines(d.definition(ctx, wanted.GroupResource()), wanted.Version)
	switch {
	case defined: // it may be served soon
		return conflict
	case meant != "":
		return "did you mean " + meant + "? (resource is the plural, in lower case)"
	}
	return ""
}

// definition reads the CustomResourceDefinition of a type as JSON. It returns nil if the host does not return it. Hooks
// choose resources, which must not lead to other paths.
func (d *Discovery) definition(ctx context.Context, of schema.GroupResource) []byte {
	if len(content.IsPathSegmentName(of.String())) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	path := "/apis/" + definitions.GroupVersion().String() + "/" + definitions.Resource + "/" + of.String()
	definition, err := d.client.GetAs(ctx, path, "application/json")
	if err != nil {
		return nil
	}
	return definition
}

// allTypes returns the types of all groups. If the host does not send them, it returns the types of the last
// response.
func (d *Discovery) allTypes(ctx context.Context) []*metav1.APIResourceList {
	c := &d.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readAt.IsZero() && time.Since(c.readAt) < catalogMaxAge {
		return c.types
	}
	c.readAt = time.Now()
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	var types []*metav1.APIResourceList
	for _, path := range []string{"/api", "/apis"} {
		body, err := d.client.GetAs(ctx, path, discovery.AcceptV2)
		var groups apidiscovery.APIGroupDiscoveryList
		if err == nil {
			err = json.Unmarshal(body, &groups)
		}
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Failed to list all types of the cluster", "err", err)
			return c.types
		}
		ordered, byVersion, _ := discovery.SplitGroupsAndResources(groups)
		for _, group := range ordered.Groups {
			for _, version := range group.Versions {
				if list := byVersion[schema.GroupVersion{Group: group.Name, Version: version.Version}]; list != nil {
					types = append(types, list)
				}
			}
		}
	}
	c.types = types
	return types
}
