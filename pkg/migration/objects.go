// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	group = v1alpha1.GroupName
	// servedVersion is the version that everybody uses. copyVersion is a second one of the definitions, for this package
	// alone.
	servedVersion = "v1alpha1"
	copyVersion   = "v0migration"

	// maxNamed is how many objects a text names.
	maxNamed = 10
	// parallel is how many requests are sent at once.
	parallel = 16
)

// kind is one of the kinds that move.
type kind struct {
	name       string
	resource   string
	namespaced bool
}

// kinds returns the kinds in the order in which they are copied: a controller that runs needs its revisions.
func kinds() []kind {
	return []kind{
		{"ControllerRevision", "controllerrevisions", true},
		{"DecoratorController", "decoratorcontrollers", false},
		{"CompositeController", "compositecontrollers", false},
	}
}

func (k kind) definition() string { return k.resource + "." + group }

func (k kind) in(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: k.resource}
}

// object is an object of one of the kinds.
type object struct {
	kind
	*unstructured.Unstructured
}

func (o object) String() string {
	if o.GetNamespace() == "" {
		return o.name + " " + o.GetName()
	}
	return o.name + " " + o.GetNamespace() + "/" + o.GetName()
}

// objects are objects by their String.
type objects map[string]object

// read returns all objects in a version. Of kinds without a definition, there are none in the copyVersion.
func (m *Migration) read(ctx context.Context, version string, kinds ...kind) (objects, error) {
	all := objects{}
	for _, kind := range kinds {
		if version == copyVersion {
			found, err := m.getDefinition(ctx, kind)
			if err != nil {
				return nil, err
			}
			if found.Unstructured == nil {
				continue
			}
		}
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return m.dynamic.Resource(kind.in(version)).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
			of := object{kind, item.(*unstructured.Unstructured)}
			all[of.String()] = of
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the %s in version %s: %w", kind.resource, version, err)
		}
	}
	return all, nil
}

// controllers returns the CompositeControllers and DecoratorControllers of the server.
func (m *Migration) controllers(ctx context.Context) (objects, error) {
	return m.read(ctx, servedVersion, kinds()[1:]...)
}
