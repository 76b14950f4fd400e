// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// followOf follows objects that do not change.
func followOf[T memory.Object](objects ...T) Follow[T] {
	return func(ctx context.Context, tell func([]T, []types.NamespacedName) error) error {
		if err := tell(objects, nil); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// run runs rows until the end of the test.
func run[T memory.Object](t *testing.T, rows *Rows[T]) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { rows.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// serve serves Pods of this process.
func serve(t *testing.T, pods ...*corev1.Pod) *storage[*corev1.Pod] {
	return serveFrom(t, followOf(pods...))
}

// serveFrom serves what is followed.
func serveFrom(t *testing.T, follow Follow[*corev1.Pod]) *storage[*corev1.Pod] {
	rows := podRows(follow)
	run(t, rows)
	return newStorage(kind[*corev1.Pod]{
		resource: podResource, singular: "pod", newObject: func() *corev1.Pod { return &corev1.Pod{} },
		newList: func(meta metav1.ListMeta, items []*corev1.Pod) runtime.Object {
			return &corev1.PodList{ListMeta: meta, Items: copiesOf(items)}
		},
	}, rows)
}

var podResource = schema.GroupResource{Resource: "pods"}

func podRows(follow Follow[*corev1.Pod]) *Rows[*corev1.Pod] {
	kind := memory.Kind[*corev1.Pod]{
		Resource: podResource, Copy: (*corev1.Pod).DeepCopy, New: func() *corev1.Pod { return &corev1.Pod{} },
	}
	return newRows(memory.New(kind, time.Now()), follow)
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func inNamespace(t *testing.T, namespace string) context.Context {
	return request.WithNamespace(t.Context(), namespace)
}

// eventually returns the first result that is no 503. The rows are kept in the background.
func eventually[R any](t *testing.T, ask func() (R, error)) (result R, err error) {
	t.Helper()
	_ = poll.Within(t.Context(), 10*time.Second, func(context.Context) error {
		if result, err = ask(); apierrors.IsServiceUnavailable(err) {
			return err
		}
		return nil
	})
	return result, err
}

func TestWhatIsShownCanBeRead(t *testing.T) {
	r := serve(t, pod("a"), pod("b"))
	ctx := inNamespace(t, "ns")
	found, err := eventually(t, func() (runtime.Object, error) { return r.Get(ctx, "a", &metav1.GetOptions{}) })
	if err != nil || found.(*corev1.Pod).Name != "a" {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := r.Get(ctx, "c", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("error is %v", err)
	}
	list, err := r.List(ctx, &metainternalversion.ListOptions{Limit: 1})
	if err != nil || len(list.(*corev1.PodList).Items) != 1 || list.(*corev1.PodList).Continue == "" {
		t.Errorf("listed %v, %v", list, err)
	}
	elsewhere := inNamespace(t, "elsewhere")
	if list, err := r.List(elsewhere, nil); err != nil || len(list.(*corev1.PodList).Items) != 0 {
		t.Errorf("listed %v, %v", list, err)
	}
	events, err := r.Watch(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if event := <-events.ResultChan(); event.Type != watch.Added {
		t.Errorf("the first event is %v", event)
	}
}

func TestWhatCannotBeShownIsUnavailableForAMoment(t *testing.T) {
	r := serveFrom(t, func(context.Context, func([]*corev1.Pod, []types.NamespacedName) error) error {
		return errors.New("the controllers do not run")
	})
	ctx := inNamespace(t, "ns")
	for _, ask := range []func() error{
		func() error { _, err := r.Get(ctx, "a", nil); return err },
		func() error { _, err := r.List(ctx, nil); return err },
		func() error { _, err := r.Watch(ctx, nil); return err },
	} {
		err := ask()
		if after, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !ok || after != retryAfterSeconds {
			t.Errorf("error is %v, to be tried again after %d", err, after)
		}
	}
}

func TestAWatchGivesItsSeatBackWhenTheClientHasWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, pod("a"), pod("b"), pod("c"))
		synctest.Wait()
		ctx := inNamespace(t, "ns")
		signal := utilflowcontrol.NewInitializationSignal()
		var isFree atomic.Bool
		go func() {
			signal.Wait()
			isFree.Store(true)
		}()
		events, err := r.Watch(utilflowcontrol.WithInitializationSignal(ctx, signal), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		synctest.Wait()
		if isFree.Load() {
			t.Error("the seat is given back before the client has read anything")
		}
		for range 3 {
			<-events.ResultChan()
		}
		synctest.Wait()
		if !isFree.Load() {
			t.Error("the watch keeps its seat")
			signal.Signal()
		}
	})
}

// The API server only ends the context of a watch that it refuses after it has begun, and does not stop it.
func TestAWatchThatEndsInAnyWayIsNoLookAnyMore(t *testing.T) {
	for name, end := range map[string]func(w watch.Interface, cancel func()){
		"it is stopped":      func(w watch.Interface, _ func()) { w.Stop() },
		"its context ends":   func(_ watch.Interface, cancel func()) { cancel() },
		"both, in any order": func(w watch.Interface, cancel func()) { cancel(); w.Stop(); w.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var isFollowed atomic.Bool
				r := serveFrom(t, func(ctx context.Context, tell func([]*corev1.Pod, []types.NamespacedName) error) error {
					isFollowed.Store(true)
					defer isFollowed.Store(false)
					return followOf[*corev1.Pod]()(ctx, tell)
				})
				synctest.Wait()
				ctx := inNamespace(t, "ns")
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				events, err := r.Watch(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Hour)
				if !isFollowed.Load() {
					t.Error("nothing is followed although somebody watches")
				}
				end(events, cancel)
				<-time.After(time.Hour)
				if isFollowed.Load() {
					t.Error("the watch has ended, and its session has not")
				}
			})
		})
	}
}

var (
	_ rest.Storage              = &storage[*corev1.Pod]{}
	_ rest.Scoper               = &storage[*corev1.Pod]{}
	_ rest.Getter               = &storage[*corev1.Pod]{}
	_ rest.Lister               = &storage[*corev1.Pod]{}
	_ rest.Watcher              = &storage[*corev1.Pod]{}
	_ rest.SingularNameProvider = &storage[*corev1.Pod]{}
	_ rest.ShortNamesProvider   = &storage[*corev1.Pod]{}
)
