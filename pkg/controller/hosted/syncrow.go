// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// row returns the Sync of a parent; nil if there is no such parent.
func (c *Controller) row(key object.Key) *v1alpha1.Sync {
	parent := c.observer.Get(key)
	if parent == nil || !c.observer.Handles(parent) {
		return nil
	}
	var last syncSummary
	if state := c.parents.find(key); state != nil {
		last = state.record.get()
	}
	name := c.rowName(key)
	row := &v1alpha1.Sync{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, UID: uidOf(c.spec.UID, parent.UID), Labels: c.rowLabels,
			CreationTimestamp: parent.CreationTimestamp, Generation: parent.Generation,
		},
		Spec: v1alpha1.SyncSpec{Controller: c.spec.reference(), Parent: parentReference(parent)},
		Status: v1alpha1.SyncStatus{
			ObservedGeneration: last.generation, LastSteps: c.steps.of(key),
			NextSyncTime: c.nextSync(key, time.Now()),
		},
	}
	status := &row.Status
	if last.took > 0 {
		status.LastSyncTime, status.LastSyncDuration = microTime(last.ended), &metav1.Duration{Duration: last.took}
	}
	if last.children.known {
		status.Children = &v1alpha1.SyncChildren{Wanted: last.children.wanted, AsWanted: last.children.asWanted, Outdated: last.children.outdated}
	}
	if failures := c.queue.Failures(key); failures > 0 {
		status.Backoff = &v1alpha1.SyncBackoff{Failures: int32(failures)}
	}
	c.describeState(status, parent, &last)
	status.Conditions = conditionsOf(status, &last)
	return row
}

// describeState sets the state, the message, and what is waited for.
func (c *Controller) describeState(status *v1alpha1.SyncStatus, parent *object.Object, last *syncSummary) {
	health := c.health.of(object.KeyOf(parent))
	for _, warning := range health.warnings {
		if warning != nil {
			status.Warnings = append(status.Warnings, v1alpha1.SyncWarning{Reason: string(warning.Reason), Message: warning.Message})
		}
	}
	if last.note != nil {
		status.WaitsFor = last.note.text
	}
	switch {
	case health.paused && c.spec.Paused:
		status.State, status.Message = v1alpha1.SyncStatePaused, fmt.Sprintf("the %s is paused", c.spec.Kind.Name)
	case health.paused:
		status.State, status.Message = v1alpha1.SyncStatePaused, "the annotation "+v1alpha1.PausedAnnotation+" pauses it"
	case health.failure != nil:
		status.State, status.Message = v1alpha1.SyncStateFailing, health.failure.Message
	case last.ended == 0:
		status.State, status.Message = v1alpha1.SyncStateWaiting, "it has not been synced yet since the controller started"
		status.WaitsFor = "its turn in the queue"
	case parent.Generation != last.generation:
		status.State, status.Message = v1alpha1.SyncStateProgressing, fmt.Sprintf("generation %d is to be synced", parent.Generation)
	case last.note != nil:
		status.State, status.Message = last.note.state, last.note.text
	default:
		status.State = v1alpha1.SyncStateSynced
		if len(status.Warnings) > 0 {
			status.Message = status.Warnings[0].Message
		}
	}
}

func conditionsOf(status *v1alpha1.SyncStatus, last *syncSummary) []metav1.Condition {
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
	case last.ended == 0:
		synced.Status = metav1.ConditionUnknown
	}
	return []metav1.Condition{synced}
}

// nextSync returns when a parent is synced next if nothing changes; nil if it is not.
func (c *Controller) nextSync(parent object.Key, now time.Time) *metav1.MicroTime {
	next := c.queue.NextSync(parent)
	if resyncs := c.resyncs.Load(); resyncs != nil {
		for _, ticks := range *resyncs {
			if at := ticks.after(now); next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	if next.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: next}
}

// rowName returns the namespace and the name of the Sync of a parent.
func (c *Controller) rowName(parent object.Key) types.NamespacedName {
	name := types.NamespacedName{Namespace: parent.Namespace, Name: c.spec.Kind.ShortName + ":" + c.spec.Name + ":" + parent.Name}
	if name.Namespace == "" {
		name.Namespace = c.RevisionNamespace
	}
	if c.spec.Kind.NamesTypes {
		resource := parent.Kind
		for _, target := range c.observer.Targets {
			if target.View.Type.GroupKind() == parent.GroupKind {
				resource = target.View.Type.GroupResource().String()
			}
		}
		name.Name = c.spec.Kind.ShortName + ":" + c.spec.Name + ":" + resource + ":" + parent.Name
	}
	return name
}

// reference names the controller object.
func (s *Spec) reference() v1alpha1.ControllerReference {
	return v1alpha1.ControllerReference{Kind: s.Kind.Name, Name: s.Name}
}

func parentReference(parent *object.Object) v1alpha1.ParentReference {
	return v1alpha1.ParentReference{
		APIVersion: parent.APIVersion, Kind: parent.Kind, Namespace: parent.Namespace, Name: parent.Name, UID: parent.UID,
	}
}

// rowLabels are the labels of what is shown of a controller. A name that is too long for a label is left out.
func rowLabels(kind, name string) map[string]string {
	labels := map[string]string{v1alpha1.ControllerKindLabel: kind}
	if len(validation.IsValidLabelValue(name)) == 0 {
		labels[v1alpha1.ControllerNameLabel] = name
	}
	return labels
}

// uidOf returns a UID that is always the same for the same two.
func uidOf(controller, parent types.UID) types.UID {
	return types.UID(uuid.NewSHA1(uuid.Nil, []byte(controller+"/"+parent)).String())
}

func microTime(nanoseconds int64) *metav1.MicroTime {
	return &metav1.MicroTime{Time: time.Unix(0, nanoseconds)}
}
