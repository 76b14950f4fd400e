// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// pageSize is how many objects are read at once.
const pageSize = 500

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
		options := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := m.dynamic.Resource(kind.in(version)).List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("read the %s in version %s: %w", kind.resource, version, err)
			}
			for i := range page.Items {
				all[page.Items[i].GetUID()] = object{kind, &page.Items[i]}
			}
			if options.Continue = page.GetContinue(); options.Continue == "" {
				break
			}
		}
	}
	return all, nil
}
