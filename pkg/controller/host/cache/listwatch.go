// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// listWatch lists and watches objects of a type for a reflector: all of them, the ones that a
// selector selects, or the one with a name.
type listWatch struct {
	client *host.Client
	of     object.Type
	only   types.NamespacedName
	labels string
	// onRequest is called before each watch request, onWatch with the result of the request, and
	// onList with the result of a list.
	onRequest func()
	onWatch   func(error)
	onList    func(error)
	// onWarnings is called with the warnings of the host's response to a request.
	onWarnings func([]string)
	// store is notified of the state of the watches, and running counts them.
	store   *store
	running *sync.WaitGroup
}

// watch begins with a streaming list if the reflector asks for one.
func (l *listWatch) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	l.onRequest()
	withList := ptr.Deref(options.SendInitialEvents, false)
	collecting, warnings := host.CollectWarnings(ctx)
	watched, err := l.client.Watch(collecting, l.of, l.only.Namespace, l.selecting(options))
	if err == nil {
		l.onWarnings(warnings.Texts())
	}
	if err != nil && ctx.Err() != nil {
		// The reflector is about to end. It does not log an error of this kind.
		return nil, apierrors.NewResourceExpired("the watch has ended")
	}
	if withList && apierrors.IsInvalid(err) {
		return nil, err // the host does not stream lists, so the reflector lists
	}
	l.onWatch(err)
	if err != nil {
		return nil, err
	}
	observed := newStream(watched, withList, l.store)
	l.running.Go(observed.run)
	return observed, nil
}

// list is called only if the host has no streaming lists. It requests the current objects, as a streaming list does.
// For any other version, the host may return objects that are older than the last writes of the process that ran the
// controller before. The controller would then delete children as unwanted, or create them again.
func (l *listWatch) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	collecting, warnings := host.CollectWarnings(ctx)
	list, err := l.client.List(collecting, l.of, l.only.Namespace, l.selecting(options))
	if err == nil {
		l.onWarnings(warnings.Texts())
	}
	if ctx.Err() == nil {
		l.onList(err)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// selecting adds the selectors. A request for a single object names it, because then the right to
// read that one object is enough.
func (l *listWatch) selecting(options metav1.ListOptions) metav1.ListOptions {
	if l.only.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, l.only.Name).String()
	}
	options.LabelSelector = l.labels
	return options
}

var (
	errNoChanges = errors.New("the watch ends as soon as it has begun")
	errCutList   = errors.New("the streamed list ends before it is complete")
)

// stream is a watch of the host that reports its state to a store. A reflector reports neither the content of an event
// of the type ERROR, nor that a watch ended right after it began.
type stream struct {
	host     watch.Interface
	store    *store
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
func newStream(host watch.Interface, withList bool, store *store) *stream {
	s := &stream{
		host: host, store: store, events: make(chan watch.Event), stopped: make(chan struct{}),
		lists: withList, began: time.Now(),
	}
	if !withList {
		store.onChanges()
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
			s.store.onChanges()
		}
	case !s.progressed:
		s.progressed = true
		s.store.onProgress()
	}
}

// end reports the end to the store. A resource version that is too old is not an error: the reflector lists again.
func (s *stream) end(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		err = nil
	}
	s.store.onEnd(err)
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
