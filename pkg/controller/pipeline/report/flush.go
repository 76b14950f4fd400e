// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// flushTimeout is how long the host may take to be written the last events.
const flushTimeout = 3 * time.Second

// reasonLast is that of an event which is not written: it comes after all others.
const reasonLast = "Last"

// sink writes events, one after the other, and tells when the last was written.
type sink struct {
	record.EventSink
	last chan struct{}
}

// Create implements record.EventSink.
func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.Reason != reasonLast {
		return s.EventSink.Create(event)
	}
	close(s.last)
	return event, nil
}

// Shutdown writes the events that were told so far, if the host takes them in time,
// and stops.
func (e *Events) Shutdown() {
	e.recorder.Event(&corev1.ObjectReference{Name: component}, corev1.EventTypeNormal, reasonLast, "")
	timeout := time.NewTimer(flushTimeout)
	defer timeout.Stop()
	select {
	case <-e.sink.last:
	case <-timeout.C:
	}
	e.broadcaster.Shutdown()
}
