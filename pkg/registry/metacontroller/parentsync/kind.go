// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentsync

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Resource is the name of the resource.
const Resource = "syncs"

// NewStore returns an empty store of Syncs.
func NewStore() *memory.Store[*v1alpha1.Sync] {
	return memory.New(memory.Kind[*v1alpha1.Sync]{
		Resource: v1alpha1.Resource(Resource),
		Copy: func(of *v1alpha1.Sync) *v1alpha1.Sync {
			clone := *of
			return &clone
		},
		New:      newSync,
		Fields:   fieldsOf,
		Changing: []string{v1alpha1.FieldState},
	}, time.Now())
}

// NewREST returns the storage of Syncs.
func NewREST(rows *live.Rows[*v1alpha1.Sync]) rest.Storage {
	return live.NewREST(live.Kind[*v1alpha1.Sync]{
		Resource: v1alpha1.Resource(Resource), Singular: "sync", New: newSync, NewList: newList, Table: newTable(time.Now),
	}, rows)
}

func newSync() *v1alpha1.Sync { return &v1alpha1.Sync{} }

func newList(meta metav1.ListMeta, items []*v1alpha1.Sync) runtime.Object {
	list := &v1alpha1.SyncList{ListMeta: meta, Items: make([]v1alpha1.Sync, len(items))}
	for i, item := range items {
		list.Items[i] = *item
	}
	return list
}

func fieldsOf(of *v1alpha1.Sync) fields.Set {
	return fields.Set{
		v1alpha1.FieldController: of.Spec.Controller.Name, v1alpha1.FieldKind: of.Spec.Controller.Kind,
		v1alpha1.FieldParent: of.Spec.Parent.Name, v1alpha1.FieldState: string(of.Status.State),
	}
}
