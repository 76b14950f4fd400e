// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells people what came of the work: by events on parents and
// controllers, and by the status of CompositeControllers.
package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
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
	reasonDrainError       = "DrainError"
	reasonNotFinalized     = "NotFinalized"
	reasonChildNameTaken   = "ChildNameTaken"
	reasonWriteLoop        = "WriteLoop"
	reasonDuplicateChild   = "DuplicateChild"
	reasonCredentialsStale = "CredentialsStale"
	reasonRolloutStarted   = "RolloutStarted"
	reasonRolloutWaiting   = "RolloutWaiting"
	reasonRolloutFinished  = "RolloutFinished"
)

// EventOptions bound the events that are written about one object.
type EventOptions struct {
	// QPS is how many events a second an object gets in the long run.
	QPS float32
	// Burst is how many it may get at once.
	Burst int
}

// Events writes events to the host.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	sink        *sink
}

// NewEvents makes a writer of events, which must be shut down. The scheme knows the
// kinds of the controllers that events are about.
func NewEvents(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, options EventOptions) (*Events, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil // the options bound the events of an object, and the host those of all
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx),
		record.WithCorrelatorOptions(record.CorrelatorOptions{QPS: options.QPS, BurstSize: options.Burst}))
	sink := &sink{EventSink: &corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")}, flushed: make(chan struct{})}
	broadcaster.StartRecordingToSink(sink)
	return &Events{
		broadcaster: broadcaster,
		recorder:    broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component}),
		sink:        sink,
	}, nil
}

// Starting tells that a controller's loop is about to start, Started that it has.
func (e *Events) Starting(controller runtime.Object, name string) {
	e.recorder.Eventf(controller, corev1.EventTypeNormal, reasonStarting, "Starting controller: %s", name)
}

// Started tells that a controller's loop has started.
func (e *Events) Started(controller runtime.Object, name string) {
	e.recorder.Eventf(controller, corev1.EventTypeNormal, reasonStarted, "Started controller: %s", name)
}

// Stopping tells that a controller's loop is about to stop.
func (e *Events) Stopping(controller runtime.Object, name string) {
	e.recorder.Eventf(controller, corev1.EventTypeNormal, reasonStopping, "Stopping controller: %s", name)
}

// Stopped tells that a controller's loop has stopped.
func (e *Events) Stopped(controller runtime.Object, name string) {
	e.recorder.Eventf(controller, corev1.EventTypeNormal, reasonStopped, "Stopped controller: %s", name)
}

// CreateError tells that a controller's spec cannot be run.
func (e *Events) CreateError(controller runtime.Object, err error) {
	e.recorder.Eventf(controller, corev1.EventTypeWarning, reasonCreateError, "Cannot create new controller: %s", truncateError(err))
}

// CredentialsStale tells that a controller's hook is called with older credentials than
// there are, since these are of no use.
func (e *Events) CredentialsStale(controller runtime.Object, err error) {
	e.recorder.Eventf(controller, corev1.EventTypeWarning, reasonCredentialsStale, "The last good credentials stay in use: %s", truncateError(err))
}

// NoStatusSubresource tells that the parents of a controller have no status that
// could be written.
func (e *Events) NoStatusSubresource(controller runtime.Object, name, parentType string) {
	e.recorder.Eventf(controller, corev1.EventTypeWarning, reasonSyncError,
		"[%s] Sync error - ignoring, CRD [%s] does not have subresource 'Status' enabled", name, parentType)
}

// DrainError tells that the finalizer of a controller cannot be taken off its parents.
func (e *Events) DrainError(controller runtime.Object, err error) {
	e.recorder.Eventf(controller, corev1.EventTypeWarning, reasonDrainError, "Cannot take the finalizer off parents: %s (the annotation %s: \"true\" has the controller go without)",
		truncateError(err), v1alpha1.SkipDrainAnnotation)
}

// NotFinalized tells that a parent which was being deleted was let go although its
// finalize hook has not said that it is done.
func (e *Events) NotFinalized(parent *object.Object, finalizer string) {
	e.recorder.Eventf(parent, corev1.EventTypeWarning, reasonNotFinalized,
		"Let go without the finalize hook having said that it is done, since its controller is no longer there: the finalizer was %s", finalizer)
}

// SyncError tells that a parent could not be synced.
func (e *Events) SyncError(parent *object.Object, err error) {
	e.recorder.Eventf(parent, corev1.EventTypeWarning, reasonSyncError, "Sync error: %s", truncateError(err))
}

// WriteLoop tells that children of a parent, or its status, are written less often
// because they would be written again and again.
func (e *Events) WriteLoop(parent *object.Object, loops []pipeline.WriteLoop, now time.Time) {
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonWriteLoop, truncate(writeLoopEvent(loops, now)))
}

// truncateError keeps an error within what an event's message may hold.
func truncateError(err error) string { return truncate(err.Error()) }

// truncate keeps a message within what that of an event may be.
func truncate(message string) string {
	const most = 900
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

// DuplicateChildren tells that a hook lists children more than once.
func (e *Events) DuplicateChildren(parent *object.Object, children []string) {
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonDuplicateChild,
		truncate("The hook lists children more than once, and the last one of each counts: "+list(children)))
}

// NameConflict tells that children could not be created because their names belong to
// somebody else.
func (e *Events) NameConflict(parent *object.Object, children []string) {
	message := list(children) + " exists and is not this object's: it was left alone; delete it, or have the hook choose another name"
	if len(children) > 1 {
		message = "These exist and are not this object's: they were left alone; delete them, or have the hook choose other names: " + list(children)
	}
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonChildNameTaken, truncate(message))
}

// list names the first few of some children and how many more there are.
func list(children []string) string {
	const most = 5
	named := strings.Join(children[:min(len(children), most)], ", ")
	if more := len(children) - most; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	return named
}

// RolloutStarted tells that a change of a parent begins to be rolled out; first is what is
// done first.
func (e *Events) RolloutStarted(parent *object.Object, first string) {
	e.recorder.Event(parent, corev1.EventTypeNormal, reasonRolloutStarted, truncate("A change is rolled out: "+first))
}

// RolloutWaiting tells that a rollout has waited for the same for a while.
func (e *Events) RolloutWaiting(parent *object.Object, why string) {
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonRolloutWaiting, truncate("The rollout waits: "+why))
}

// RolloutFinished tells that all children are at the latest revision.
func (e *Events) RolloutFinished(parent *object.Object, latest string) {
	e.recorder.Event(parent, corev1.EventTypeNormal, reasonRolloutFinished, truncate("The rollout is finished: "+latest))
}

// flushTimeout is how long the host may take to be written the last events.
const flushTimeout = 3 * time.Second

// flushReason is that of an event which is not written: it comes after all others.
const flushReason = "Last"

// sink writes events, one after the other, and tells when the last was written.
type sink struct {
	record.EventSink
	flushed chan struct{}
}

// Create implements record.EventSink.
func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.Reason != flushReason {
		return s.EventSink.Create(event)
	}
	close(s.flushed)
	return event, nil
}

// Shutdown writes the events that were told so far, if the host takes them in time,
// and stops.
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
