// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"
)

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

// objects are objects by their UIDs.
type objects map[types.UID]object

// read returns all objects of all kinds in a version. Those of a kind without a definition are none.
func (m *Migration) read(ctx context.Context, version string) (objects, error) {
	all := objects{}
	for _, kind := range kinds() {
		if version == copyVersion {
			found, err := m.getDefinition(ctx, kind)
			if err != nil {
				return nil, err
			}
			if found.Unstructured == nil {
				continue
			}
		}
		found, err := m.list(ctx, kind, version)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			all[one.GetUID()] = one
		}
	}
	return all, nil
}

// controllers returns the CompositeControllers and DecoratorControllers that the cluster serves.
func (m *Migration) controllers(ctx context.Context) (all []object, err error) {
	for _, kind := range kinds() {
		if kind.namespaced {
			continue
		}
		found, err := m.list(ctx, kind, servedVersion)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// list returns all objects of a kind in a version.
func (m *Migration) list(ctx context.Context, kind kind, version string) (all []object, err error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return m.dynamic.Resource(kind.in(version)).List(ctx, options)
	})
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		all = append(all, object{kind, item.(*unstructured.Unstructured)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the %s in version %s: %w", kind.resource, version, err)
	}
	return all, nil
}
