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
)

// Host is how plugins ask the host.
type Host struct {
	Reviews Reviews
	Types   Types
}

// validate tells whether the host can be asked.
func (h Host) validate() error {
	if h.Reviews == nil || h.Types == nil {
		return errors.New("there is no way to ask the host")
	}
	return nil
}

// Types tells which types the host has.
type Types interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// WantsHost is a plugin that asks the host.
type WantsHost interface {
	SetHost(Host)
	admission.InitializationValidator
}

// NewInitializer makes an initializer that tells plugins how to ask the host.
func NewInitializer(host Host) admission.PluginInitializer { return initializer{host} }

type initializer struct{ host Host }

// Initialize tells the plugin, if it wants to know.
func (i initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsHost); ok {
		wants.SetHost(i.host)
	}
}

// knownType is what the host tells of a type.
type knownType struct {
	// served tells that the host has the type, and hasStatus that its objects have the subresource.
	served, hasStatus bool
}

// know asks the host for types, each API version once and all at the same time. A type of a version that the host does
// not have is not served.
func (h Host) know(ctx context.Context, rules []typeRule) (map[schema.GroupVersionResource]knownType, error) {
	versions := sets.New[schema.GroupVersion]()
	for _, rule := range rules {
		versions.Insert(rule.GroupVersion())
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	known := map[schema.GroupVersionResource]knownType{}
	for version := range versions {
		group.Go(func() {
			list, err := h.Types.ServerResourcesForGroupVersionWithContext(ctx, version.String())
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !apierrors.IsNotFound(err) {
				failure = fmt.Errorf("read the types of %s: %w", version, err)
			}
			if err == nil {
				readTypes(version, list, known)
			}
		})
	}
	group.Wait()
	return known, failure
}

func readTypes(version schema.GroupVersion, list *metav1.APIResourceList, into map[schema.GroupVersionResource]knownType) {
	for _, resource := range list.APIResources {
		name, subresource, _ := strings.Cut(resource.Name, "/")
		of := into[version.WithResource(name)]
		of.served = of.served || subresource == ""
		of.hasStatus = of.hasStatus || subresource == statusSubresource
		into[version.WithResource(name)] = of
	}
}

// whereStatusIs turns the need to write the status of parents into one to write the parents themselves where the host
// says that there is no such subresource. Types that the host does not have yet are taken to have it.
func (h Host) whereStatusIs(ctx context.Context, c *controller, needs []need) ([]need, error) {
	known, err := h.know(ctx, c.parents)
	if err != nil {
		return nil, err
	}
	within := sets.New[schema.GroupResource]()
	for _, parent := range c.parents {
		if of := known[parent.GroupVersionResource]; of.served && !of.hasStatus {
			within.Insert(parent.GroupResource())
		}
	}
	for i := range needs {
		if needs[i].subresource == statusSubresource && within.Has(needs[i].GroupResource) {
			needs[i].subresource = ""
		}
	}
	return needs, nil
}
