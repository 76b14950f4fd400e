// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkPeriod is the interval at which a watch sends bookmarks.
const bookmarkPeriod = time.Minute

// WatchOptions are the options of a watch, as clients give them.
type WatchOptions struct {
	Selection
	ResourceVersion   string
	AllowBookmarks    bool
	SendInitialEvents *bool
	// Begun is called after the client has received the initial events, because later events are cheap. It may be
	// nil.
	Begun func()
}

// Watch returns the changes after a version, until ctx ends or the client stops it. Without a version, and
// if the options ask for it, it first returns the existing objects.
func (s *Store[T]) Watch(ctx context.Context, options WatchOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requested, err := s.parseVersion(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if requested > s.sequence {
		return nil, s.expired(requested)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher[T]{
		store: s, options: options, ever: s.kind.everMatching(options.Selection), at: s.sequence, cancel: cancel,
		results: make(chan watch.Event, 1), done: make(chan struct{}),
	}
	switch asked := options.SendInitialEvents; {
	case asked != nil && *asked:
		w.initial, w.marksEnd = true, options.AllowBookmarks
	case asked == nil && requested == 0:
		w.initial = true
	case requested == 0:
	case requested < s.floor:
		cancel()
		return nil, s.expired(requested)
	default:
		w.at = requested
	}
	if options.Fields != nil && len(w.ever.Fields.Requirements()) != len(options.Fields.Requirements()) {
		w.told = map[types.NamespacedName]bool{}
	}
	if w.initial {
		w.at = 0
	} else if w.told != nil {
		w.noteUnchanged()
	}
	go w.run(ctx)
	return w, nil
}

// watcher is the watch of one client.
type watcher[T Object] struct {
	store   *Store[T]
	options WatchOptions
	// ever selects the objects that the client may have received.
	ever Selection
	// at is the version up to which the client has received all events, or zero before the first objects.
	at uint64
	// initial is true if the watch begins with events for the existing objects, and marksEnd is true if a bookmark
	// marks their end.
	initial, marksEnd bool
	// told says which objects the client has, true, and does not have, false, as far as that is known. It is nil unless
	// the selection depends on what changes.
	told map[types.NamespacedName]bool

	results chan watch.Event
	cancel  context.CancelFunc
	done    chan struct{}
}

// noteUnchanged notes which objects the client has, of those that have not changed since the version that it is at.
func (w *watcher[T]) noteUnchanged() {
	for _, one := range w.store.byKey {
		if one.version <= w.at && !one.removed {
			w.told[one.key] = w.store.kind.matches(&w.options.Selection, one.object)
		}
	}
}

// ResultChan returns the events. It is closed when the watch ends.
func (w *watcher[T]) ResultChan() <-chan watch.Event { return w.results }

// Stop ends the watch, and waits until it has ended.
func (w *watcher[T]) Stop() {
	w.cancel()
	<-w.done
}

func (w *watcher[T]) run(ctx context.Context) {
	defer close(w.done)
	defer close(w.results)
	bookmarks := time.NewTicker(bookmarkPeriod)
	defer bookmarks.Stop()
	wake, goesOn := w.tell(ctx)
	if w.options.Begun != nil {
		w.options.Begun()
	}
	for goesOn {
		select {
		case <-wake:
			wake, goesOn = w.tell(ctx)
		case <-bookmarks.C:
			goesOn = !w.options.AllowBookmarks || w.send(ctx, w.bookmark(nil))
		case <-ctx.Done():
			return
		}
	}
}

// tell sends the changes since the version that the client is at. The first time, these may be all objects. It returns
// the channel that is closed at the next change, and false if the watch ends.
func (w *watcher[T]) tell(ctx context.Context) (wake <-chan struct{}, goesOn bool) {
	changed, now, wake, err := w.next()
	if err != nil {
		w.send(ctx, watch.Event{Type: watch.Error, Object: &err.ErrStatus})
		return nil, false
	}
	for _, one := range changed {
		if event, told := w.event(one); told && !w.send(ctx, event) {
			return nil, false
		}
	}
	w.at = now
	if w.marksEnd {
		w.marksEnd = false
		return wake, w.send(ctx, w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	return wake, true
}

// next returns the changes since the version that the client is at, in order, the version that the client is at
// afterwards, and the channel that is closed at the next change. It returns an error if the client has missed a change.
func (w *watcher[T]) next() (changed []*entry[T], now uint64, wake <-chan struct{}, err *apierrors.StatusError) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.initial:
		w.initial = false
		changed = slices.Clone(s.inOrder())
	case w.at < s.floor:
		return nil, 0, nil, s.expired(w.at)
	default:
		for element := s.byVersion.Back(); element != nil; element = element.Prev() {
			one := element.Value.(*entry[T])
			if one.version <= w.at {
				break
			}
			changed = append(changed, one)
		}
		slices.Reverse(changed)
	}
	return changed, s.sequence, s.changed, nil
}

// event returns the event of an object that has changed. It returns false if there is nothing to send to the client.
func (w *watcher[T]) event(one *entry[T]) (event watch.Event, told bool) {
	kind := &w.store.kind
	if !kind.matches(&w.ever, one.object) {
		return event, false
	}
	had, isKnown := w.told[one.key]
	had = had || !isKnown && one.mayHaveBeenAt(w.at)
	has := !one.removed && kind.matches(&w.options.Selection, one.object)
	switch {
	case w.told == nil:
	case one.removed:
		delete(w.told, one.key)
	default:
		w.told[one.key] = has
	}
	switch {
	case had && has:
		event.Type = watch.Modified
	case had:
		event.Type = watch.Deleted
	case has:
		event.Type = watch.Added
	default:
		return event, false
	}
	event.Object = kind.Copy(one.object)
	return event, true
}

func (w *watcher[T]) send(ctx context.Context, event watch.Event) bool {
	select {
	case w.results <- event:
		return true
	case <-ctx.Done():
		return false
	}
}

// bookmark returns an event with the version that the client is at.
func (w *watcher[T]) bookmark(annotations map[string]string) watch.Event {
	mark := w.store.kind.New()
	mark.SetResourceVersion(formatVersion(w.at))
	mark.SetAnnotations(annotations)
	return watch.Event{Type: watch.Bookmark, Object: mark}
}
