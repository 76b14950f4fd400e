// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	listers "github.com/metacontroller/metacontroller-apiserver/pkg/generated/listers/metacontroller/v1alpha1"
)

func TestWatchShowsEveryChange(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		list, err := kind.client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watcher, err := kind.client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		defer watcher.Stop()

		create(t, kind, kind.named(t, "a"))
		if _, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, []byte(kind.otherContent), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			if got := next(t, watcher); got.Type != want {
				t.Errorf("event = %+v, want %s", got, want)
			}
		}
	})
}

func TestAWatchFromAResourceVersionTheStorageHasNotReachedIsAnsweredWithGone(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		current, err := strconv.Atoi(create(t, kind, kind.named(t, "a")).GetResourceVersion())
		if err != nil {
			t.Fatal(err)
		}
		yes := true
		tests := map[string]struct {
			options  metav1.ListOptions
			wantGone bool
		}{
			"from now on":              {metav1.ListOptions{}, false},
			"from whatever is cached":  {metav1.ListOptions{ResourceVersion: "0"}, false},
			"from the current version": {metav1.ListOptions{ResourceVersion: strconv.Itoa(current)}, false},
			"from the next version":    {metav1.ListOptions{ResourceVersion: strconv.Itoa(current + 1)}, true},
			"from a far version":       {metav1.ListOptions{ResourceVersion: "123456789"}, true},
			"of one object from afar":  {metav1.ListOptions{ResourceVersion: "123456789", FieldSelector: "metadata.name=a"}, true},
			"with bookmarks from afar": {metav1.ListOptions{ResourceVersion: "123456789", AllowWatchBookmarks: true}, true},
			"with a list before, from afar": {metav1.ListOptions{
				ResourceVersion: "123456789", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				SendInitialEvents: &yes, AllowWatchBookmarks: true,
			}, true},
			"with a list before": {metav1.ListOptions{
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, SendInitialEvents: &yes, AllowWatchBookmarks: true,
			}, false},
		}
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				watcher, err := kind.client.Watch(t.Context(), test.options)
				if err == nil {
					watcher.Stop()
				}
				if test.wantGone && !apierrors.IsResourceExpired(err) {
					t.Errorf("error = %v, want Gone with reason Expired", err)
				}
				if !test.wantGone && err != nil {
					t.Errorf("error = %v, want none", err)
				}
			})
		}
		if _, err := kind.client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "yesterday"}); !apierrors.IsBadRequest(err) {
			t.Errorf("a watch from what is no version gives %v, want BadRequest", err)
		}
	})
}

func TestAListFromAResourceVersionTheStorageHasNotReachedFailsAtOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		create(t, kind, kind.named(t, "a"))
		_, err := kind.client.List(t.Context(), metav1.ListOptions{ResourceVersion: "123456789"})
		if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			t.Errorf("error = %v, want one with the cause ResourceVersionTooLarge", err)
		}
		if _, retry := apierrors.SuggestsClientDelay(err); retry {
			t.Error("the client is told to retry, which is of no use")
		}
		if _, err := kind.client.List(t.Context(), metav1.ListOptions{ResourceVersion: "yesterday"}); !apierrors.IsBadRequest(err) {
			t.Errorf("a list from what is no version gives %v, want BadRequest", err)
		}
	})
}

// An informer has followed one storage up to some resourceVersion. Then, under the same address,
// there is another storage that is not that far: it was restored, replaced, or is the one that
// comes after the CRDs. The informer is to notice by itself.
func TestAnInformerRecoversWhenTheStorageBehindTheAddressIsAnother(t *testing.T) {
	for name, streaming := range map[string]bool{"listing": false, "with streaming lists": true} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			address := newSwitch(t)
			client := newTypedClient(t, listen(t, address))

			before := newServer(t)
			address.to(before)
			createComposite(t, client, "before")
			for i := range 30 {
				label(t, client, "before", strconv.Itoa(i))
			}
			lister, informer := startInformer(t, client)
			waitForNames(t, lister, "before")

			after := newServer(t)
			afterClient := newTypedClient(t, listen(t, after))
			createComposite(t, afterClient, "after")
			far, err := strconv.Atoi(informer.LastSyncResourceVersion())
			if err != nil {
				t.Fatal(err)
			}
			address.to(after)
			waitForNames(t, lister, "after")

			// Of this one the informer would have heard nothing: its version is below the one the
			// informer had.
			later := createComposite(t, afterClient, "later")
			if version, err := strconv.Atoi(later.ResourceVersion); err != nil || version >= far {
				t.Fatalf("the new storage is at %s (%v), the test needs it below %d", later.ResourceVersion, err, far)
			}
			waitForNames(t, lister, "after", "later")
		})
	}
}

// changeover is a handler that hands requests to another, which can be replaced. Requests under way
// then are cut off.
type changeover struct {
	current atomic.Pointer[target]
}

type target struct {
	handler http.Handler
	ctx     context.Context
	cutOff  context.CancelFunc
}

func newSwitch(t *testing.T) *changeover {
	address := &changeover{}
	t.Cleanup(func() { address.current.Load().cutOff() })
	return address
}

func (c *changeover) to(handler http.Handler) {
	ctx, cutOff := context.WithCancel(context.Background())
	if previous := c.current.Swap(&target{handler: handler, ctx: ctx, cutOff: cutOff}); previous != nil {
		previous.cutOff()
	}
}

func (c *changeover) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	target := c.current.Load()
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(target.ctx, cancel)()
	target.handler.ServeHTTP(response, request.WithContext(ctx))
}

func startInformer(t *testing.T, client versioned.Interface) (listers.CompositeControllerLister, cache.SharedIndexInformer) {
	t.Helper()
	factory := externalversions.NewSharedInformerFactory(client, 0)
	composites := factory.Metacontroller().V1alpha1().CompositeControllers()
	informer := composites.Informer()
	ctx, stop := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	return composites.Lister(), informer
}

func waitForNames(t *testing.T, lister listers.CompositeControllerLister, want ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		objects, err := lister.List(labels.Everything())
		if err != nil {
			return false, err
		}
		got = nil
		for _, object := range objects {
			got = append(got, object.Name)
		}
		slices.Sort(got)
		return slices.Equal(want, got), nil
	})
	if err != nil {
		t.Fatalf("the informer knows %v, want %v: %v", got, want, err)
	}
}

func createComposite(t *testing.T, client versioned.Interface, name string) *v1alpha1.CompositeController {
	t.Helper()
	url := "http://hooks.example/sync"
	created, err := client.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{
				ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "foos"},
			},
			Hooks: &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func label(t *testing.T, client versioned.Interface, name, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"label":"%s"}}}`, value)
	if _, err := client.MetacontrollerV1alpha1().CompositeControllers().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, watcher watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-watcher.ResultChan():
		if !open {
			t.Fatal("the watch ended")
		}
		return event
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 seconds")
	}
	return watch.Event{}
}
