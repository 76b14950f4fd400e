// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookcall

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Resource is the name of the resource.
const Resource = "hookcalls"

// NewStore returns an empty store of HookCalls.
func NewStore() *memory.Store[*v1alpha1.HookCall] {
	return memory.New(memory.Kind[*v1alpha1.HookCall]{
		Resource: v1alpha1.Resource(Resource),
		Copy: func(of *v1alpha1.HookCall) *v1alpha1.HookCall {
			clone := *of
			return &clone
		},
		New:    newCall,
		Fields: fieldsOf,
	}, time.Now())
}

// NewREST returns the storage of HookCalls. A call is read from the source with its bodies, if the reviews
// say that its reader may see them.
func NewREST(rows *live.Rows[*v1alpha1.HookCall], source Source, reviews rights.Reviews) rest.Storage {
	return &storage{source: source, reviews: reviews, REST: live.NewREST(live.Kind[*v1alpha1.HookCall]{
		Resource: v1alpha1.Resource(Resource), Singular: "hookcall", New: newCall, NewList: newList, Table: newTable(),
	}, rows)}
}

func newCall() *v1alpha1.HookCall { return &v1alpha1.HookCall{} }

func newList(meta metav1.ListMeta, items []*v1alpha1.HookCall) runtime.Object {
	list := &v1alpha1.HookCallList{ListMeta: meta, Items: make([]v1alpha1.HookCall, len(items))}
	for i, item := range items {
		list.Items[i] = *item
	}
	return list
}

func fieldsOf(of *v1alpha1.HookCall) fields.Set {
	return fields.Set{
		v1alpha1.FieldController: of.Spec.Controller.Name, v1alpha1.FieldKind: of.Spec.Controller.Kind,
		v1alpha1.FieldParent: of.Spec.Parent.Name, v1alpha1.FieldHook: of.Spec.Hook, v1alpha1.FieldResult: string(of.Status.Result),
	}
}
