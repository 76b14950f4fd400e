// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// component is the source of all events.
const component = "metacontroller"

// The reasons of events.
const (
	reasonStarting         = "Starting"
	reasonStarted          = "Started"
	reasonStopping         = "Stopping"
	reasonStopped          = "Stopped"
	reasonCreateError      = "CreateError"
	reasonSyncError        = "SyncError"
	reasonSyncStalled      = "SyncStalled"
	reasonSyncRecovered    = "SyncRecovered"
	reasonFinalizeWaiting  = "FinalizeWaiting"
	reasonDrainError       = "DrainError"
	reasonNotFinalized     = "NotFinalized"
	reasonNoLongerSelected = "NoLongerSelected"
	reasonChildNameTaken   = "ChildNameTaken"
	reasonWriteLoop        = "WriteLoop"
	reasonCredentialsStale = "CredentialsStale"
	reasonAdopted          = "Adopted"
	reasonRolloutStarted   = "RolloutStarted"
	reasonRolloutFinished  = "RolloutFinished"
)

// EventOptions limit the events about one object. The limits apply to each kind of message. All events of one reason
// together may be reasonShare times as many.
type EventOptions struct {
	// QPS is the sustained maximum number of events per second.
	QPS float32
	// Burst is the maximum number of events at once.
	Burst int
}

// Events writes events to the host. Its methods return before the event is written.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	sink        *sink
}

// NewEvents returns a writer of events, which the caller must shut down. The scheme must know CompositeController and
// DecoratorController.
func NewEvents(
	ctx context.Context, config *rest.Config, scheme *runtime.Scheme, options EventOptions,
) (*Events, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil // the options limit the events of an object, and the host those of all
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for events: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		QPS: options.QPS, BurstSize: options.Burst, SpamKeyFunc: messageKey, KeyFunc: similarKeys, MessageFunc: combine,
	}))
	sink := &sink{
		EventSink: &corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")},
		budgets:   newReasonBudgets(options, clock.RealClock{}), flushed: make(chan struct{}),
	}
	broadcaster.StartRecordingToSink(sink)
	return &Events{
		broadcaster: broadcaster,
		recorder:    broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component}),
		sink:        sink,
	}, nil
}

// Starting writes that a controller is about to start.
func (e *Events) Starting(controller runtime.Object, name string) {
	e.record(controller, corev1.EventTypeNormal, reasonStarting, "Starting controller: %s", name)
}

// Started writes that a controller has started.
func (e *Events) Started(controller runtime.Object, name string) {
	e.record(controller, corev1.EventTypeNormal, reasonStarted, "Started controller: %s", name)
}

// Stopping writes that a controller is about to stop.
func (e *Events) Stopping(controller runtime.Object, name string) {
	e.record(controller, corev1.EventTypeNormal, reasonStopping, "Stopping controller: %s", name)
}

// Stopped writes that a controller has stopped.
func (e *Events) Stopped(controller runtime.Object, name string) {
	e.record(controller, corev1.EventTypeNormal, reasonStopped, "Stopped controller: %s", name)
}

// CreateError writes that a controller's spec cannot be run.
func (e *Events) CreateError(controller runtime.Object, err error) {
	e.record(controller, corev1.EventTypeWarning, reasonCreateError, "Cannot create new controller: %s", Summary(err))
}

// CredentialsStale writes that a hook is called with older credentials than the host has, because
// these are invalid.
func (e *Events) CredentialsStale(controller runtime.Object, err error) {
	e.record(controller, corev1.EventTypeWarning, reasonCredentialsStale,
		"The server still uses the last valid credentials: %s", Summary(err))
}

// TypeWarning writes that the host warns of a type of a controller.
func (e *Events) TypeWarning(controller runtime.Object, of object.Type, text string) {
	e.record(controller, corev1.EventTypeWarning, v1alpha1.ReasonClusterWarning, "%s: the cluster warns: %s", of, text)
}

// NoStatusSubresource writes that the parent type of a controller has no status subresource.
func (e *Events) NoStatusSubresource(controller runtime.Object, name, parentType string) {
	e.record(controller, corev1.EventTypeWarning, reasonSyncError,
		"[%s] The controller does not run: CRD [%s] does not have subresource 'Status' enabled, so the server cannot "+
			"write the status of parents; add `subresources: {status: {}}` to the version in the CustomResourceDefinition",
		name, parentType)
}

// DrainError writes that the finalizer of a controller cannot be removed from its parents.
func (e *Events) DrainError(controller runtime.Object, err error) {
	e.record(controller, corev1.EventTypeWarning, reasonDrainError,
		"Cannot remove the finalizer from parents: %s (the annotation %s: \"true\" deletes the controller anyway)",
		Summary(err), v1alpha1.SkipDrainAnnotation)
}

// NotFinalized writes that the finalizer of a controller was removed from a parent although the finalize hook has not
// returned "finalized": true. Objects that the hook created outside the cluster may stay there.
func (e *Events) NotFinalized(parent *object.Object, finalizer string, why pipeline.UnfinalizedReason) {
	more := ""
	switch {
	case parent.DeletionTimestamp != nil:
	case why == pipeline.NoFinalizeHook:
		more = ". The children stay as they are; to call the hook when this object is deleted, set spec.hooks.finalize " +
			"again: the server then adds the finalizer again"
	default:
		more = ". The children stay as they are"
	}
	e.record(parent, corev1.EventTypeWarning, reasonNotFinalized,
		"Removed the finalizer %s although the finalize hook has not returned "+
			"\"finalized\": true: %s%s", finalizer, why, more)
}

// Finalizing writes that a parent is finalized although it is not being deleted, because a controller
// no longer selects it.
func (e *Events) Finalizing(parent *object.Object, finalizer string) {
	e.record(parent, corev1.EventTypeNormal, reasonNoLongerSelected,
		"The controller no longer selects this object: the server calls its finalize hook, and removes the finalizer %s "+
			"when the hook returns \"finalized\": true", finalizer)
}

// NoLongerSelected writes that a controller no longer selects a parent without a finalizer.
func (e *Events) NoLongerSelected(parent *object.Object, controller string) {
	e.record(parent, corev1.EventTypeNormal, reasonNoLongerSelected,
		"The controller %s no longer selects this object: the server stops syncing it, and its children stay as they are",
		controller)
}

// SyncError writes that the sync of a parent failed.
func (e *Events) SyncError(parent *object.Object, err error) {
	e.record(parent, corev1.EventTypeWarning, reasonSyncError, "Sync error: %s", Summary(err))
}

// SyncRecovered writes that a parent is as its hook wants, and which failure has ended.
func (e *Events) SyncRecovered(parent *object.Object, failure *ParentError) {
	e.record(parent, corev1.EventTypeNormal, reasonSyncRecovered, "Synced again. Resolved: %s", failure.Message)
}

// Warning writes that a parent was synced with a warning.
func (e *Events) Warning(parent *object.Object, warning pipeline.Warning) {
	of := corev1.EventTypeWarning
	if warning.Chosen {
		of = corev1.EventTypeNormal
	}
	e.record(parent, of, string(warning.Reason), "%s", warning.Message)
}

// SyncStalled writes that the syncs of a parent have neither succeeded nor failed for long.
func (e *Events) SyncStalled(parent *object.Object, err error) {
	e.record(parent, corev1.EventTypeWarning, reasonSyncStalled, "%s", Summary(err))
}

// FinalizeWaiting writes that the finalize hook of a parent does not finish.
func (e *Events) FinalizeWaiting(parent *object.Object, err error) {
	e.record(parent, corev1.EventTypeWarning, reasonFinalizeWaiting, "%s", Summary(err))
}

// WriteLoop writes that a child of a parent, or the parent itself, is written less often because it
// would be written again and again.
func (e *Events) WriteLoop(parent *object.Object, loops []pipeline.WriteLoop, now time.Time) {
	e.record(parent, corev1.EventTypeWarning, reasonWriteLoop, "%s", writeLoopEvent(loops, now))
}

// maxEvent is the maximum length, in bytes, of the message of an event. Clusters allow 1,024. The event
// may be combined with others.
const maxEvent = 1024 - len(combined)

// record writes an event about an object. It writes no event about an Event, because the new event would also be a
// parent of controllers for Events.
func (e *Events) record(about runtime.Object, of, reason, format string, args ...any) {
	if parent, ok := about.(*object.Object); ok && isEvent(parent) {
		return
	}
	message := text.OneLine(fmt.Sprintf(format, args...)) // kubectl get events shows the first line only
	e.recorder.Event(about, of, reason, text.Shorten(message, maxEvent))
}

// isEvent reports whether an object is an Event, of either API group that serves Events.
func isEvent(of *object.Object) bool {
	kind := of.GroupVersionKind()
	return kind.Kind == "Event" && (kind.Group == corev1.GroupName || kind.Group == eventsv1.GroupName)
}

// OfHook writes an event that a hook has answered about a parent or a child of it. The children of Events get none
// either: each event about one would be another parent, with another child.
func (e *Events) OfHook(parent, about *object.Object, event pipeline.HookEvent) {
	if isEvent(parent) {
		return
	}
	of := corev1.EventTypeNormal
	if event.Warning {
		of = corev1.EventTypeWarning
	}
	e.record(about, of, event.Reason, "%s", event.Message)
}

// NameConflict writes that children could not be created because other objects have their names.
func (e *Events) NameConflict(parent *object.Object, err error) {
	e.record(parent, corev1.EventTypeWarning, reasonChildNameTaken, "%s", Summary(err))
}

// Adopted writes that a parent has become the controller of objects that had none.
func (e *Events) Adopted(parent *object.Object, children string) {
	e.record(parent, corev1.EventTypeNormal, reasonAdopted,
		"Adopted %s: this object's selector matches it and it had no controller. The cluster deletes it together with "+
			"this object", children)
}

// RolloutStarted writes that the rollout of a change of a parent starts; first is its first step.
func (e *Events) RolloutStarted(parent *object.Object, first string) {
	e.record(parent, corev1.EventTypeNormal, reasonRolloutStarted, "Rolling out a change: %s", first)
}

// RolloutFinished writes that all children are at the latest revision.
func (e *Events) RolloutFinished(parent *object.Object, latest string) {
	e.record(parent, corev1.EventTypeNormal, reasonRolloutFinished, "The rollout is finished: %s", latest)
}

// flushTimeout limits how long Shutdown waits for the host to take the last events.
const flushTimeout = 3 * time.Second

// flushReason is the reason of an event that is not written: it marks the end of the events before
// it.
const flushReason = "Last"

// sink writes events one after the other, as far as the budgets of their reasons go. It closes
// flushed when it gets the event that marks the end.
type sink struct {
	record.EventSink
	budgets *reasonBudgets
	flushed chan struct{}
}

// Create implements record.EventSink.
func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	switch {
	case event.Reason == flushReason:
		close(s.flushed)
		return event, nil
	case !s.budgets.take(event):
		return event, nil
	}
	return s.EventSink.Create(event)
}

// Patch implements record.EventSink. It adds to the count of an event. If that was never created,
// the answer of the cluster makes the caller create it, which takes from the budget once more.
func (s *sink) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	if !s.budgets.take(event) {
		return event, nil
	}
	return s.EventSink.Patch(event, patch)
}

// Shutdown waits until the events so far are written, but not longer than flushTimeout, and stops.
func (e *Events) Shutdown() {
	e.recorder.Event(&corev1.ObjectReference{Name: component}, corev1.EventTypeNormal, flushReason, "")
	timeout := time.NewTimer(flushTimeout)
	defer timeout.Stop()
	select {
	case <-e.sink.flushed:
	case <-timeout.C:
	}
	e.broadcaster.Shutdown()
}
