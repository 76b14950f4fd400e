// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Index finds objects by values that are computed from each object alone. An informer creates it
// when it is used first, and keeps it up to date with the objects from then on.
type Index struct {
	// Name identifies the index. Indexes of all users share their names.
	Name string
	// Values returns the values of an object; none if the index is not to have the object. It is
	// called with the informer's lock held: it must not read this cache or another one.
	Values func(o *object.Object) []string
}

var byNamespace = Index{Name: "namespace", Values: func(o *object.Object) []string { return []string{o.Namespace} }}

// By returns the objects that an index has under a value.
func (v *View) By(index Index, value string) []*object.Object {
	v.informer.ensure(index)
	return v.indexed(v.informer.indexer(), index.Name, value)
}

// ensure creates an index if there is none of its name.
func (i *informer) ensure(index Index) {
	i.mu.RLock()
	exists := i.onDemand[index.Name] != nil
	i.mu.RUnlock()
	if exists {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.onDemand[index.Name] != nil {
		return
	}
	values := func(obj any) ([]string, error) { return index.Values(obj.(*object.Object)), nil }
	i.onDemand[index.Name] = values
	for _, s := range []*store{i.current, i.next} {
		if s != nil {
			// It fails only if there is an index of that name.
			_ = s.indexer.AddIndexers(cache.Indexers{index.Name: values})
		}
	}
}
