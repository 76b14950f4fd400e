// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
)

// Rows holds the Syncs of the parents of one controller.
type Rows struct {
	// Syncs shows the rows while the controller runs; nil if no Syncs are served.
	Syncs *Syncs
	// Reference and UID identify the controller object. Labels are the labels of the rows; they are not changed.
	Reference v1alpha1.ControllerReference
	UID       types.UID
	Labels    map[string]string
	// ShortName is the short name of the kind, which begins the names of rows. NamesTypes is true if the names have the
	// type of the parent.
	ShortName  string
	NamesTypes bool
	// ClusterNamespace is the namespace of the rows of cluster-scoped parents.
	ClusterNamespace string
	// IsPaused is true if the controller leaves all its parents alone.
	IsPaused bool

	Observer *observe.Observer
	Queue    *syncqueue.Queue
	// Health returns how the last sync of a parent ended.
	Health func(object.Key) status.ParentHealth
	// Record returns the record of the last sync of a parent; nil if the parent was not synced.
	Record func(object.Key) *Record
	// NextResync returns when all parents are synced again; zero if they are not.
	NextResync func(now time.Time) time.Time
	// Steps are the last steps of syncs.
	Steps StepLog
}

// Show shows the rows until hide is called.
func (r *Rows) Show() (hide func()) {
	if r.Syncs == nil {
		return func() {}
	}
	return r.Syncs.add(r)
}

// Changed says that the row of a parent has changed.
func (r *Rows) Changed(parent object.Key) {
	if r.Syncs == nil || !r.Syncs.changes.IsFollowed() {
		return
	}
	r.Syncs.changes.Changed(syncKey{r.Reference, parent, r.name(parent)})
}

// SyncEnded records the result and the steps of a sync of a parent.
func (r *Rows) SyncEnded(key object.Key, of *Record, last Sync, steps []pipeline.Outcome) {
	ended := time.Now()
	next := summary{
		ended: ended.UnixNano(), took: ended.Sub(last.Started), generation: last.Generation, children: last.Children,
		synced: metav1.ConditionTrue, note: last.Note,
	}
	if last.Note != nil || r.Health(key).Failure != nil {
		next.synced = metav1.ConditionFalse
	}
	of.set(next)
	r.Steps.add(key, steps, ended)
}

// Row returns the Sync of a parent; nil if there is no such parent.
func (r *Rows) Row(key object.Key) *v1alpha1.Sync {
	parent := r.Observer.Get(key)
	if parent == nil || !r.Observer.Handles(parent) {
		return nil
	}
	var last summary
	if record := r.Record(key); record != nil {
		last = record.get()
	}
	name := r.name(key)
	row := &v1alpha1.Sync{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, UID: uidOf(r.UID, parent.UID), Labels: r.Labels,
			CreationTimestamp: parent.CreationTimestamp, Generation: parent.Generation,
		},
		Spec: v1alpha1.SyncSpec{Controller: r.Reference, Parent: parentReference(parent)},
		Status: v1alpha1.SyncStatus{
			ObservedGeneration: last.generation, LastSteps: r.Steps.of(key),
			NextSyncTime: r.nextSync(key, time.Now()),
		},
	}
	status := &row.Status
	if last.took > 0 {
		status.LastSyncTime, status.LastSyncDuration = microTime(last.ended), &metav1.Duration{Duration: last.took}
	}
	if last.children.Known {
		status.Children = &v1alpha1.SyncChildren{Wanted: last.children.Wanted, AsWanted: last.children.AsWanted,
			Outdated: last.children.Outdated}
	}
	if failures := r.Queue.Failures(key); failures > 0 {
		status.Backoff = &v1alpha1.SyncBackoff{Failures: int32(failures)}
	}
	r.describe(status, parent, r.Health(key), &last)
	status.Conditions = conditionsOf(status, &last)
	return row
}

// describe sets the state, the message, and the reason for a wait.
func (r *Rows) describe(of *v1alpha1.SyncStatus, parent *object.Object, health status.ParentHealth, last *summary) {
	for _, warning := range health.Warnings {
		of.Warnings = append(of.Warnings, v1alpha1.SyncWarning{Reason: string(warning.Reason), Message: warning.Message})
	}
	if last.note != nil {
		of.WaitsFor = last.note.Text
	}
	switch {
	case health.Paused && r.IsPaused:
		of.State, of.Message = v1alpha1.SyncStatePaused, fmt.Sprintf("the %s is paused", r.Reference.Kind)
	case health.Paused:
		of.State, of.Message = v1alpha1.SyncStatePaused, "the annotation "+v1alpha1.PausedAnnotation+" pauses it"
	case health.Failure != nil:
		of.State, of.Message = v1alpha1.SyncStateFailing, health.Failure.Message
	case last.ended == 0:
		of.State, of.Message = v1alpha1.SyncStateWaiting, "it has not been synced yet since the controller started"
		of.WaitsFor = "its turn in the queue"
	case parent.Generation != last.generation:
		of.State, of.Message = v1alpha1.SyncStateProgressing, fmt.Sprintf(
			"generation %d has not been synced yet", parent.Generation)
	case last.note != nil:
		of.State, of.Message = last.note.State, last.note.Text
	default:
		of.State = v1alpha1.SyncStateSynced
		if len(of.Warnings) > 0 {
			of.Message = of.Warnings[0].Message
		}
	}
}

func conditionsOf(status *v1alpha1.SyncStatus, last *summary) []metav1.Condition {
	synced := metav1.Condition{
		Type: v1alpha1.ConditionSynced, Status: metav1.ConditionFalse, ObservedGeneration: last.generation,
		LastTransitionTime: metav1.NewTime(time.Unix(0, last.since)), Reason: string(status.State), Message: status.Message,
	}
	switch {
	case status.State == v1alpha1.SyncStateSynced:
		synced.Status = metav1.ConditionTrue
	case status.State == v1alpha1.SyncStatePaused:
		synced.Status = metav1.ConditionUnknown
		paused := synced
		paused.Type, paused.Status = v1alpha1.ConditionPaused, metav1.ConditionTrue
		return []metav1.Condition{synced, paused}
	case status.State == v1alpha1.SyncStateFailing:
		stalled := synced
		stalled.Type, stalled.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
		return []metav1.Condition{synced, stalled}
	case last.ended == 0:
		synced.Status = metav1.ConditionUnknown
	}
	return []metav1.Condition{synced}
}

// nextSync returns when a parent is synced next if nothing changes; nil if it is not.
func (r *Rows) nextSync(parent object.Key, now time.Time) *metav1.MicroTime {
	next := r.Queue.NextSync(parent)
	if at := r.NextResync(now); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	if next.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: next}
}

// name returns the namespace and the name of the Sync of a parent.
func (r *Rows) name(parent object.Key) types.NamespacedName {
	name := types.NamespacedName{Namespace: parent.Namespace,
		Name: r.ShortName + ":" + r.Reference.Name + ":" + parent.Name}
	if name.Namespace == "" {
		name.Namespace = r.ClusterNamespace
	}
	if r.NamesTypes {
		resource := parent.Kind
		for _, target := range r.Observer.Targets {
			if target.View.Type.GroupKind() == parent.GroupKind {
				resource = target.View.Type.GroupResource().String()
			}
		}
		name.Name = r.ShortName + ":" + r.Reference.Name + ":" + resource + ":" + parent.Name
	}
	return name
}

func parentReference(parent *object.Object) v1alpha1.ParentReference {
	return v1alpha1.ParentReference{
		APIVersion: parent.APIVersion, Kind: parent.Kind, Namespace: parent.Namespace, Name: parent.Name, UID: parent.UID,
	}
}

// LabelsOf returns the labels of the Syncs and HookCalls of a controller. A name that is too long for a label is left
// out.
func LabelsOf(kind, name string) map[string]string {
	labels := map[string]string{v1alpha1.ControllerKindLabel: kind}
	if len(validation.IsValidLabelValue(name)) == 0 {
		labels[v1alpha1.ControllerNameLabel] = name
	}
	return labels
}

// uidOf returns the UID of a row, which is always the same for the same two.
func uidOf(controller, parent types.UID) types.UID {
	return types.UID(uuid.NewSHA1(uuid.Nil, []byte(controller+"/"+parent)).String())
}

func microTime(nanoseconds int64) *metav1.MicroTime {
	return &metav1.MicroTime{Time: time.Unix(0, nanoseconds)}
}
