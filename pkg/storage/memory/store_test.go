// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// start is the version with which the stores of the tests begin.
const start = 1_000_000

// newStore returns a store of Pods, whose phase is a field that changes.
func newStore() *Store[*corev1.Pod] {
	return New(Kind[*corev1.Pod]{
		Resource: schema.GroupResource{Resource: "pods"},
		Copy: func(pod *corev1.Pod) *corev1.Pod {
			clone := *pod
			return &clone
		},
		New: func() *corev1.Pod { return &corev1.Pod{} },
		Fields: func(pod *corev1.Pod) fields.Set {
			return fields.Set{"phase": string(pod.Status.Phase), "node": pod.Spec.NodeName}
		},
		Changing: []string{"phase"},
	}, time.UnixMicro(start))
}

// pod is a Pod "namespace/name" in a phase, on node "n" and with the label app=name.
func pod(key, phase string) *corev1.Pod {
	namespace, name, _ := strings.Cut(key, "/")
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

func key(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func put(s *Store[*corev1.Pod], keys ...string) {
	for _, key := range keys {
		s.Update([]*corev1.Pod{pod(key, "")}, nil)
	}
}

func remove(s *Store[*corev1.Pod], keys ...string) {
	for _, text := range keys {
		s.Update(nil, []types.NamespacedName{key(text)})
	}
}

func version(after int) string { return fmt.Sprint(start + after) }

func listed(t *testing.T, s *Store[*corev1.Pod], options ListOptions) (string, metav1.ListMeta) {
	t.Helper()
	found, meta, err := s.List(options)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range found {
		names = append(names, one.Namespace+"/"+one.Name)
	}
	return strings.Join(names, " "), meta
}

func TestList(t *testing.T) {
	s := newStore()
	put(s, "b/1", "a/2", "c/1", "a/10", "a/1", "b/2")
	remove(s, "b/1")
	s.Update([]*corev1.Pod{pod("c/1", "Failed")}, nil)
	for name, test := range map[string]struct {
		options ListOptions
		want    string
	}{
		"all are in the order of their keys": {ListOptions{}, "a/1 a/10 a/2 b/2 c/1"},
		"those of a namespace":               {ListOptions{Selection: Selection{Namespace: "a"}}, "a/1 a/10 a/2"},
		"those of a namespace without any":   {ListOptions{Selection: Selection{Namespace: "aa"}}, ""},
		"those with a label":                 {ListOptions{Selection: Selection{Labels: labels.SelectorFromSet(labels.Set{"app": "2"})}}, "a/2 b/2"},
		"those with a field":                 {ListOptions{Selection: Selection{Fields: fields.ParseSelectorOrDie("phase=Failed,node=n")}}, "c/1"},
		"the one of a name":                  {ListOptions{Selection: Selection{Fields: fields.ParseSelectorOrDie("metadata.name=10")}}, "a/10"},
		"any version that was reached will do": {ListOptions{ResourceVersion: version(3), Match: metav1.ResourceVersionMatchNotOlderThan},
			"a/1 a/10 a/2 b/2 c/1"},
		"exactly the present version": {ListOptions{ResourceVersion: version(8), Match: metav1.ResourceVersionMatchExact}, "a/1 a/10 a/2 b/2 c/1"},
		"zero is any version":         {ListOptions{ResourceVersion: "0"}, "a/1 a/10 a/2 b/2 c/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if found, meta := listed(t, s, test.options); found != test.want || meta.ResourceVersion != version(8) || meta.Continue != "" {
				t.Errorf("found %q with %+v, want %q", found, meta, test.want)
			}
		})
	}
}

func TestListRefuses(t *testing.T) {
	s := newStore()
	put(s, "a/1", "a/2")
	for name, test := range map[string]struct {
		options ListOptions
		is      func(error) bool
	}{
		"a version that is not reached yet": {ListOptions{ResourceVersion: version(3)}, apierrors.IsResourceExpired},
		"an old version exactly":            {ListOptions{ResourceVersion: version(1), Match: metav1.ResourceVersionMatchExact}, apierrors.IsResourceExpired},
		"what is no version":                {ListOptions{ResourceVersion: "x"}, apierrors.IsBadRequest},
		"what is no continuation":           {ListOptions{Continue: "?"}, apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := s.List(test.options); !test.is(err) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// What changes between two parts is in the watch from the version of the list.
func TestAListInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		put(s, "a/1", "a/2", "a/3", "b/1", "b/2")
		first, meta := listed(t, s, ListOptions{Limit: 2})
		if first != "a/1 a/2" || *meta.RemainingItemCount != 3 || meta.ResourceVersion != version(5) {
			t.Errorf("the first part is %q with %+v", first, meta)
		}
		put(s, "a/0", "a/4")
		remove(s, "a/2", "b/1")
		second, meta := listed(t, s, ListOptions{Limit: 2, Continue: meta.Continue})
		if second != "a/3 a/4" || meta.ResourceVersion != version(5) {
			t.Errorf("the second part is %q with %+v", second, meta)
		}
		last, meta := listed(t, s, ListOptions{Limit: 2, Continue: meta.Continue})
		if last != "b/2" || meta.Continue != "" || meta.ResourceVersion != version(5) {
			t.Errorf("the last part is %q with %+v", last, meta)
		}
		w := watching(t, s, WatchOptions{ResourceVersion: meta.ResourceVersion})
		w.expect(t, "ADDED a/0 6", "ADDED a/4 7", "DELETED a/2 8", "DELETED b/1 9")
	})
}

func TestAListInPartsGoesOnAtAnotherReplica(t *testing.T) {
	for name, began := range map[string]int{"that started earlier": -1000, "that started later": 1000} {
		t.Run(name, func(t *testing.T) {
			s, other := newStore(), New(newStore().kind, time.UnixMicro(start+int64(began)))
			put(s, "a/1", "a/2", "b/1")
			put(other, "b/1", "a/2", "a/1")
			_, first := listed(t, s, ListOptions{Limit: 1})
			rest, last := listed(t, other, ListOptions{Continue: first.Continue})
			if rest != "a/2 b/1" || last.Continue != "" || last.ResourceVersion != first.ResourceVersion {
				t.Errorf("the list goes on with %q and %+v", rest, last)
			}
			if _, err := other.Watch(t.Context(), WatchOptions{ResourceVersion: last.ResourceVersion}); !apierrors.IsResourceExpired(err) {
				t.Errorf("the error of a watch from the version of the first replica is %v", err)
			}
		})
	}
}

// watched is a watch of a test.
type watched struct{ watch.Interface }

func watching(t *testing.T, s *Store[*corev1.Pod], options WatchOptions) watched {
	t.Helper()
	w, err := s.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return watched{w}
}

// expect reads all events that there are by now. An event is its type, its object and its version after start.
func (w watched) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for {
		synctest.Wait()
		select {
		case event, ok := <-w.ResultChan():
			if !ok {
				got = append(got, "end")
				break
			}
			got = append(got, describe(event))
			continue
		default:
		}
		break
	}
	if !slices.Equal(got, want) {
		t.Errorf("events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func describe(event watch.Event) string {
	if status, ok := event.Object.(*metav1.Status); ok {
		return fmt.Sprint(event.Type, " ", status.Code)
	}
	of := event.Object.(*corev1.Pod)
	after := 0
	_, _ = fmt.Sscan(of.ResourceVersion, &after)
	text := fmt.Sprintf("%s %s/%s %d", event.Type, of.Namespace, of.Name, after-start)
	if of.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		text += " end of the initial events"
	}
	return text
}

func TestWatch(t *testing.T) {
	failed := Selection{Fields: fields.ParseSelectorOrDie("phase=Failed")}
	phase := func(s *Store[*corev1.Pod], key, phase string) { s.Update([]*corev1.Pod{pod(key, phase)}, nil) }
	for name, test := range map[string]struct {
		options WatchOptions
		before  func(*Store[*corev1.Pod])
		first   []string
		after   func(*Store[*corev1.Pod])
		then    []string
	}{
		"without a version, what is there comes first": {
			before: func(s *Store[*corev1.Pod]) { put(s, "b/1", "a/1"); remove(s, "b/1") },
			first:  []string{"ADDED a/1 2"},
			after:  func(s *Store[*corev1.Pod]) { put(s, "a/2"); phase(s, "a/1", "Failed") },
			then:   []string{"ADDED a/2 4", "MODIFIED a/1 5"},
		},
		"from a version, what has changed since comes first": {
			options: WatchOptions{ResourceVersion: version(2)},
			before: func(s *Store[*corev1.Pod]) {
				put(s, "a/1", "a/2", "a/3", "a/4")
				phase(s, "a/1", "Failed")
				remove(s, "a/2", "a/4")
			},
			first: []string{"ADDED a/3 3", "MODIFIED a/1 5", "DELETED a/2 6"},
		},
		"an object that changes often is told once": {
			options: WatchOptions{ResourceVersion: version(0)},
			before: func(s *Store[*corev1.Pod]) {
				for i := range 100 {
					phase(s, "a/1", fmt.Sprint(i))
				}
			},
			first: []string{"ADDED a/1 100"},
		},
		"an object that was removed and put again in between has changed": {
			options: WatchOptions{ResourceVersion: version(1)},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1"); remove(s, "a/1"); put(s, "a/1") },
			first:   []string{"MODIFIED a/1 3"},
		},
		"what stays the same is not told": {
			options: WatchOptions{ResourceVersion: version(1)},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1", "a/1") },
		},
		"the end of what is there is told": {
			options: WatchOptions{SendInitialEvents: ptr.To(true), AllowBookmarks: true},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1", "a/2") },
			first:   []string{"ADDED a/1 1", "ADDED a/2 2", "BOOKMARK / 2 end of the initial events"},
			after:   func(s *Store[*corev1.Pod]) { put(s, "a/3") },
			then:    []string{"ADDED a/3 3"},
		},
		"what is there is left out": {
			options: WatchOptions{SendInitialEvents: ptr.To(false)},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1") },
			after:   func(s *Store[*corev1.Pod]) { put(s, "a/2") },
			then:    []string{"ADDED a/2 2"},
		},
		"bookmarks tell the version": {
			options: WatchOptions{ResourceVersion: version(0), AllowBookmarks: true, Selection: Selection{Namespace: "b"}},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1", "a/2") },
			after:   func(*Store[*corev1.Pod]) { <-time.After(bookmarkPeriod) },
			then:    []string{"BOOKMARK / 2"},
		},
		"what is never selected is not told": {
			options: WatchOptions{ResourceVersion: version(1), Selection: Selection{Labels: labels.SelectorFromSet(labels.Set{"app": "2"})}},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1", "a/2"); phase(s, "a/1", "Failed"); remove(s, "a/1") },
			first:   []string{"ADDED a/2 2"},
		},
		"what is selected no more is told as gone": {
			options: WatchOptions{Selection: failed},
			before:  func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Failed"); phase(s, "a/2", "Running") },
			first:   []string{"ADDED a/1 1"},
			after:   func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Running"); phase(s, "a/2", "Failed") },
			then:    []string{"DELETED a/1 3", "ADDED a/2 4"},
		},
		"what is not selected is not told of, once that is known": {
			options: WatchOptions{Selection: failed},
			before:  func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Running") },
			after:   func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Pending"); remove(s, "a/1") },
		},
		"what may have been selected is told as gone": {
			options: WatchOptions{ResourceVersion: version(1), Selection: failed},
			before:  func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Failed"); phase(s, "a/1", "Running") },
			first:   []string{"DELETED a/1 2"},
			after:   func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Pending") },
		},
		"what was not selected and has not changed is known": {
			options: WatchOptions{ResourceVersion: version(2), Selection: failed},
			before:  func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Running"); phase(s, "a/2", "Failed") },
			after:   func(s *Store[*corev1.Pod]) { phase(s, "a/1", "Pending"); phase(s, "a/2", "Pending") },
			then:    []string{"DELETED a/2 4"},
		},
		"all end when the store is cleared": {
			options: WatchOptions{ResourceVersion: version(1)},
			before:  func(s *Store[*corev1.Pod]) { put(s, "a/1") },
			after:   (*Store[*corev1.Pod]).Clear,
			then:    []string{"ERROR 410", "end"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				test.before(s)
				w := watching(t, s, test.options)
				w.expect(t, test.first...)
				if test.after != nil {
					test.after(s)
				}
				w.expect(t, test.then...)
			})
		})
	}
}

func TestAWatchHasBegunWhenTheClientHasWhatIsThere(t *testing.T) {
	for name, options := range map[string]WatchOptions{
		"what is there":               {},
		"what is there, and its end":  {SendInitialEvents: ptr.To(true), AllowBookmarks: true},
		"what has changed since then": {ResourceVersion: version(1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				put(s, "a/1", "a/2", "a/3", "a/4")
				var begun atomic.Bool
				options.Begun = func() { begun.Store(true) }
				w, err := s.Watch(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				synctest.Wait()
				if begun.Load() {
					t.Error("it has begun before the client has read anything")
				}
				for has := false; !has; synctest.Wait() {
					select {
					case <-w.ResultChan():
					default:
						has = true
					}
				}
				if !begun.Load() {
					t.Error("it has not begun although the client has everything")
				}
			})
		})
	}
}

func TestWatchRefusesVersionsThatItWouldMissSomethingFrom(t *testing.T) {
	s := newStore()
	s.maxRemoved = 2
	put(s, "a/1", "a/2", "a/3", "a/4")
	remove(s, "a/1", "a/2", "a/3") // 5, 6 and 7, of which 5 is dropped
	for after, refused := range map[int]bool{-1: true, 4: true, 5: false, 7: false, 8: true} {
		w, err := s.Watch(t.Context(), WatchOptions{ResourceVersion: version(after)})
		if refused != apierrors.IsResourceExpired(err) {
			t.Errorf("from version %d, the error is %v", after, err)
		}
		if err == nil {
			w.Stop()
		}
	}
}

func TestAClientThatIsTooSlowListsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.maxRemoved = 2
		put(s, "a/0")
		w := watching(t, s, WatchOptions{ResourceVersion: version(1)})
		synctest.Wait()
		s.Update([]*corev1.Pod{pod("a/1", ""), pod("a/2", ""), pod("a/3", ""), pod("a/4", "")}, nil)
		synctest.Wait() // the watch waits for the client to read the first
		remove(s, "a/1", "a/2", "a/3", "a/4")
		w.expect(t, "ADDED a/1 2", "ADDED a/2 3", "ADDED a/3 4", "ADDED a/4 5", "ERROR 410", "end")
	})
}

func TestAClientThatReadsNothingCanStop(t *testing.T) {
	s := newStore()
	put(s, "a/1", "a/2", "a/3")
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Watch(ctx, WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	w.Stop()
	cancel()
}

func TestGet(t *testing.T) {
	s := newStore()
	put(s, "a/1", "a/2")
	remove(s, "a/2")
	if found, ok := s.Get(key("a/1")); !ok || found.ResourceVersion != version(1) {
		t.Errorf("found %v", found)
	}
	found, _ := s.Get(key("a/1"))
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod")) // as the encoder of the answer does
	if again, _ := s.Get(key("a/1")); again.Kind != "" {
		t.Error("the answer is not a copy")
	}
	for _, missing := range []string{"a/2", "a/3"} {
		if found, ok := s.Get(key(missing)); ok {
			t.Errorf("found %v", found)
		}
	}
}

// The object is removed, put and removed again while the client is not connected.
func TestAWatchReportsAnObjectThatWasRemovedTwice(t *testing.T) {
	s := newStore()
	put(s, "a/x")
	_, meta := listed(t, s, ListOptions{})
	remove(s, "a/x")
	put(s, "a/x")
	remove(s, "a/x")
	w, err := s.Watch(t.Context(), WatchOptions{ResourceVersion: meta.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	put(s, "a/y")
	if first := <-w.ResultChan(); first.Type != watch.Deleted || first.Object.(*corev1.Pod).Name != "x" {
		t.Errorf("the first event is %s %v, want that x is deleted", first.Type, first.Object)
	}
}
