// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// SyncsResource is the name of the resource.
const SyncsResource = "syncs"

// NewSyncRows returns the rows of Syncs, as they are followed.
func NewSyncRows(follow Follow[*v1alpha1.Sync]) *Rows[*v1alpha1.Sync] {
	return newRows(memory.New(memory.Kind[*v1alpha1.Sync]{
		Resource: v1alpha1.Resource(SyncsResource), Copy: copyOf[v1alpha1.Sync], New: newSync,
		Fields: syncFields, Changing: []string{v1alpha1.FieldState},
	}, time.Now()), follow)
}

// NewSyncs returns the storage of Syncs.
func NewSyncs(rows *Rows[*v1alpha1.Sync]) rest.Storage {
	return newStorage(kind[*v1alpha1.Sync]{
		resource: v1alpha1.Resource(SyncsResource), singular: "sync", newObject: newSync,
		newList: func(meta metav1.ListMeta, items []*v1alpha1.Sync) runtime.Object {
			return &v1alpha1.SyncList{ListMeta: meta, Items: copiesOf(items)}
		},
		table: newSyncTable(time.Now),
	}, rows)
}

func newSync() *v1alpha1.Sync { return &v1alpha1.Sync{} }

func syncFields(of *v1alpha1.Sync) fields.Set {
	return fields.Set{
		v1alpha1.FieldController: of.Spec.Controller.Name, v1alpha1.FieldKind: of.Spec.Controller.Kind,
		v1alpha1.FieldParent: of.Spec.Parent.Name, v1alpha1.FieldState: string(of.Status.State),
	}
}

const unknown = "<unknown>"

// syncRow holds what a table shows of a Sync.
type syncRow struct {
	spec   *v1alpha1.SyncSpec
	status *v1alpha1.SyncStatus
	now    time.Time
}

// newSyncTable returns the table of Syncs. now is the clock for ages.
func newSyncTable(now func() time.Time) rest.TableConvertor {
	type column = resource.Column[syncRow]
	durations := &durationTexts{}
	return resource.NewTable(func(of *v1alpha1.Sync) syncRow { return syncRow{&of.Spec, &of.Status, now()} },
		column{Name: "Controller", Description: "The controller, by its short name.",
			Cell: func(row syncRow) any { return controllerName(row.spec.Controller) }},
		column{Name: "Parent", Description: "The parent, or target, that the controller syncs.",
			Cell: func(row syncRow) any { return row.spec.Parent.Kind + "/" + row.spec.Parent.Name }},
		column{Name: "State", Description: "Synced, Progressing, Waiting, Failing or Paused.",
			Cell: func(row syncRow) any { return string(row.status.State) }},
		column{Name: "Children", Description: "Number of children in their desired state, of the number of desired children.",
			Cell: func(row syncRow) any { return syncedChildren(row.status.Children) }},
		column{Name: "Last", Description: "Time since the end of the last sync.",
			Cell: func(row syncRow) any { return ago(durations, row.status.LastSyncTime, row.now) }},
		column{Name: "Next", Description: "Time until the next sync, unless something changes first.",
			Cell: func(row syncRow) any { return in(durations, row.status.NextSyncTime, row.now) }},
		column{Name: "Message", Description: "Error of the last sync, reason why the parent waits, or a warning.",
			Cell: func(row syncRow) any { return shortMessage(row.status.Message) }},
		column{Name: "Took", Wide: true, Description: "Duration of the last sync.",
			Cell: func(row syncRow) any { return took(row.status.LastSyncDuration) }},
		column{Name: "Retries", Type: "integer", Wide: true,
			Description: "Number of consecutive syncs that needed a retry.", Cell: retries},
	)
}

func retries(row syncRow) any {
	if row.status.Backoff == nil {
		return int64(0)
	}
	return int64(row.status.Backoff.Failures)
}

func syncedChildren(counts *v1alpha1.SyncChildren) string {
	if counts == nil {
		return unknown
	}
	return strconv.Itoa(int(counts.AsWanted)) + "/" + strconv.Itoa(int(counts.Wanted))
}

func ago(durations *durationTexts, at *metav1.MicroTime, now time.Time) string {
	if at == nil {
		return resource.None
	}
	return durations.of(now.Sub(at.Time))
}

// in returns the duration until a time. It returns zero for a sync that is due and waits for its turn.
func in(durations *durationTexts, at *metav1.MicroTime, now time.Time) string {
	if at == nil {
		return resource.None
	}
	return durations.of(max(at.Sub(now), 0))
}

func took(of *metav1.Duration) string {
	if of == nil {
		return resource.None
	}
	return of.Round(time.Millisecond).String()
}
