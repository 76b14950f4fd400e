// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// observer is called about each watch.
type observer interface {
	// onChanges is called when the watch sends changes from now on: after the list, if the watch
	// begins with one.
	onChanges()
	// onProgress is called when the watch has sent its first change or bookmark.
	onProgress()
	// onEnd is called when the watch has ended. The error is nil if it ended as watches do.
	onEnd(err error)
}

var (
	errNoChanges = errors.New("the watch ends as soon as it has begun")
	errCutList   = errors.New("the streamed list ends before it is complete")
)

// stream is a watch of the host that tells an observer how it fares. A reflector does not say what
// an event of the type ERROR said, nor that a watch ends right after it began.
type stream struct {
	host     watch.Interface
	observer observer
	events   chan watch.Event
	stopped  chan struct{}
	stopOnce sync.Once
	// lists is true while the list is being sent.
	lists bool
	// progressed is true once there was a change or a bookmark.
	progressed bool
	began      time.Time
}

// newStream returns a stream of a watch, which begins with a list or does not. It has to be run.
func newStream(host watch.Interface, withList bool, observer observer) *stream {
	s := &stream{host: host, observer: observer, events: make(chan watch.Event), stopped: make(chan struct{}), lists: withList, began: time.Now()}
	if !withList {
		observer.onChanges()
	}
	return s
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop implements watch.Interface.
func (s *stream) Stop() {
	s.stopOnce.Do(func() { close(s.stopped) })
	s.host.Stop()
}

// run passes on the events until the watch has ended or is stopped.
func (s *stream) run() {
	defer close(s.events)
	for event := range s.host.ResultChan() {
		if event.Type == watch.Error {
			s.end(apierrors.FromObject(event.Object))
		} else {
			s.observe(event)
		}
		select {
		case s.events <- event:
		case <-s.stopped:
			return
		}
		if event.Type == watch.Error {
			return
		}
	}
	switch {
	case s.isStopped():
	case s.lists:
		s.end(errCutList)
	case !s.progressed && time.Since(s.began) < enough:
		s.end(errNoChanges)
	default:
		s.end(nil)
	}
}

func (s *stream) observe(event watch.Event) {
	switch {
	case s.lists:
		if endsList(event) {
			s.lists, s.began = false, time.Now()
			s.observer.onChanges()
		}
	case !s.progressed:
		s.progressed = true
		s.observer.onProgress()
	}
}

// end tells the observer. That a resource version is too old is no trouble: the reflector lists
// again.
func (s *stream) end(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		err = nil
	}
	s.observer.onEnd(err)
}

func (s *stream) isStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// endsList reports whether an event is the bookmark at the end of a streamed list.
func endsList(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	bookmark, ok := event.Object.(*object.Object)
	return ok && bookmark.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}
