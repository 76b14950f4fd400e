// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentsync

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
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

const unknown = "<unknown>"

// newTable returns the table of Syncs. now is the clock for ages.
func newTable(now func() time.Time) rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Controller", Type: "string", Description: "The controller, by its short name."},
		{Name: "Parent", Type: "string", Description: "The parent, or target, that the controller syncs."},
		{Name: "State", Type: "string", Description: "Synced, Progressing, Waiting, Failing or Paused."},
		{Name: "Children", Type: "string", Description: "Number of children in their desired state, of the number of " +
			"desired children."},
		{Name: "Last", Type: "string", Description: "Time since the end of the last sync."},
		{Name: "Next", Type: "string", Description: "Time until the next sync, unless something changes first."},
		{Name: "Message", Type: "string", Description: "Error of the last sync, what the parent waits for, or a warning."},
	}
	wide := []metav1.TableColumnDefinition{
		{Name: "Took", Type: "string", Description: "Duration of the last sync."},
		{Name: "Retries", Type: "integer", Description: "Number of consecutive syncs that needed a retry."},
	}
	durations := &live.Durations{}
	return resource.NewTableWithoutAge(columns, wide, func(of *v1alpha1.Sync) ([]any, []any) {
		status, now := &of.Status, now()
		retries := int64(0)
		if status.Backoff != nil {
			retries = int64(status.Backoff.Failures)
		}
		return []any{
				live.ControllerName(of.Spec.Controller), of.Spec.Parent.Kind + "/" +
					of.Spec.Parent.Name, string(status.State), children(status.Children),
				ago(durations, status.LastSyncTime, now), in(durations, status.NextSyncTime,
					now), live.ShortMessage(status.Message),
			},
			[]any{took(status.LastSyncDuration), retries}
	})
}

func children(counts *v1alpha1.SyncChildren) string {
	if counts == nil {
		return unknown
	}
	return strconv.Itoa(int(counts.AsWanted)) + "/" + strconv.Itoa(int(counts.Wanted))
}

func ago(durations *live.Durations, at *metav1.MicroTime, now time.Time) string {
	if at == nil {
		return resource.None
	}
	return durations.Text(now.Sub(at.Time))
}

// in returns the duration until a time. It returns zero for a sync that is due and waits for its turn.
func in(durations *live.Durations, at *metav1.MicroTime, now time.Time) string {
	if at == nil {
		return resource.None
	}
	return durations.Text(max(at.Sub(now), 0))
}

func took(of *metav1.Duration) string {
	if of == nil {
		return resource.None
	}
	return of.Round(time.Millisecond).String()
}
