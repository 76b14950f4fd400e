// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Host holds the clients with which plugins send requests to the host.
type Host struct {
	Reviews     rights.Reviews
	Types       Types
	Definitions Definitions
	// Schemas is nil if inline hooks are not compared with schemas.
	Schemas Schemas
}

// Types lists the types that the host serves.
type Types interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Definitions reads CustomResourceDefinitions of the host, as JSON.
type Definitions interface {
	Get(ctx context.Context, name string) ([]byte, error)
}

// WantsHost is a plugin that asks the host.
type WantsHost interface {
	SetHost(Host)
	admission.InitializationValidator
}

// hostUser is the part of a plugin that asks the host.
type hostUser struct{ host Host }

// SetHost sets how to ask the host.
func (u *hostUser) SetHost(host Host) { u.host = host }

// ValidateInitialization returns an error if SetHost was not called.
func (u *hostUser) ValidateInitialization() error {
	if u.host.Reviews == nil || u.host.Types == nil || u.host.Definitions == nil {
		return errors.New("this server has no connection to the cluster")
	}
	return nil
}

// NewInitializer returns an initializer that gives the clients to the plugins that ask the host.
func NewInitializer(host Host) admission.PluginInitializer { return initializer{host} }

type initializer struct{ host Host }

// Initialize gives the clients to the plugin if it wants them.
func (i initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsHost); ok {
		wants.SetHost(i.host)
	}
}

// typeInfo describes a type as the host serves it.
type typeInfo struct {
	// served is true if the host serves the type, and hasStatus if its objects have a status
	// subresource.
	served, hasStatus bool
	// namespaced is true if its objects are in namespaces.
	namespaced bool
}

// parallelDiscovery bounds the concurrent questions of one request about API versions.
const parallelDiscovery = 4

// lookUpTypes reads types from the host: each API version once, and few at a time. A type whose version the host does
// not serve is not in the result. The lists contain all types of these versions.
func (h Host) lookUpTypes(
	ctx context.Context, rules []typeRule,
) (known map[schema.GroupVersionResource]typeInfo, lists []*metav1.APIResourceList, err error) {
	versions := sets.New[schema.GroupVersion]()
	for _, rule := range rules {
		versions.Insert(rule.GroupVersion())
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	known = map[schema.GroupVersionResource]typeInfo{}
	slots := make(chan struct{}, parallelDiscovery)
	for version := range versions {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			list, err := h.Types.ServerResourcesForGroupVersionWithContext(ctx, version.String())
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !apierrors.IsNotFound(err) {
				failure = fmt.Errorf("read the types of %s: %w", version, err)
			}
			if err == nil {
				readTypes(version, list, known)
				lists = append(lists, list)
			}
		})
	}
	group.Wait()
	return known, lists, failure
}

func readTypes(
	version schema.GroupVersion, list *metav1.APIResourceList, into map[schema.GroupVersionResource]typeInfo,
) {
	for _, resource := range list.APIResources {
		name, subresource, _ := strings.Cut(resource.Name, "/")
		of := into[version.WithResource(name)]
		of.served = of.served || subresource == ""
		of.namespaced = of.namespaced || subresource == "" && resource.Namespaced
		of.hasStatus = of.hasStatus || subresource == statusSubresource
		into[version.WithResource(name)] = of
	}
}

// hint returns what the host knows about a type that it does not serve: the names of its CustomResourceDefinition are in
// use, or there is a type with a similar name. It returns "" if it knows nothing.
func (h Host) hint(ctx context.Context, of schema.GroupVersionResource, meant string) string {
	defined, conflict := false, ""
	if definition, err := h.Definitions.Get(ctx, of.GroupResource().String()); err == nil {
		defined, conflict = nearest.Defines(definition, of.Version)
	}
	switch {
	case conflict != "":
		return "; " + conflict
	case meant != "" && !defined:
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// allTypes lists the types of all groups. Those of groups that do not answer are left out.
// They are in the order in which the cluster prefers groups and versions.
func (h Host) allTypes(ctx context.Context) (ordered []*metav1.APIResourceList) {
	groups, all, err := h.Types.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to list all types of the cluster", "err", err)
	}
	byVersion := make(map[string]*metav1.APIResourceList, len(all))
	for _, list := range all {
		byVersion[list.GroupVersion] = list
	}
	for _, group := range groups {
		for _, version := range group.Versions {
			if list := byVersion[version.GroupVersion]; list != nil {
				ordered = append(ordered, list)
			}
		}
	}
	return ordered
}
