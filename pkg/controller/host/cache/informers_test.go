// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// lingering returns informers that linger, and a view of things that has been filled.
func lingering(t *testing.T, linger time.Duration) (*fakeHost, *Informers, *View) {
	t.Helper()
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, linger)
	t.Cleanup(informers.Shutdown)
	view := informers.Acquire(things)
	fake.send("ADDED", thing("a", "2", ""))
	fake.sendListed("3")
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fake, informers, view
}

func TestAnInformerThatIsAcquiredAgainInTimeGoesOn(t *testing.T) {
	fake, informers, view := lingering(t, time.Hour)
	informers.Release(view)
	again := informers.Acquire(things)
	defer informers.Release(again)
	select {
	case <-again.Synced():
	default:
		t.Error("the objects are not there at once")
	}
	if again.informer.expiry != nil {
		t.Error("it is still to expire")
	}
	if again.List()[0].Name != "a" {
		t.Errorf("the view shows %v", again.List())
	}
	if open, opened := fake.watches(); open != 1 || opened != 1 {
		t.Errorf("%d watches are open and %d were opened, want the first one only", open, opened)
	}
}

func TestAnInformerEndsWhenItHasLingered(t *testing.T) {
	fake, informers, view := lingering(t, 10*time.Millisecond)
	informers.Release(view)
	waitUntil(t, "the watch ends", func() bool { open, _ := fake.watches(); return open == 0 })
	informers.mu.Lock()
	defer informers.mu.Unlock()
	if len(informers.byScope) != 0 {
		t.Error("its objects are still in memory")
	}
}

func TestAnInformerThatTheHostRefusesIsReplaced(t *testing.T) {
	fake, informers, view := lingering(t, time.Hour)
	informers.Release(view)
	fake.mu.Lock()
	fake.refuse, fake.status = 1_000_000, http.StatusForbidden
	fake.mu.Unlock()
	fake.server.CloseClientConnections()
	released := view.informer
	waitUntil(t, "the informer sees that it is refused", func() bool { return !released.isUpToDate() })
	again := informers.Acquire(things)
	defer informers.Release(again)
	if again.informer == released {
		t.Error("a view is given the informer that no longer follows the host")
	}
}

func TestShutdownEndsInformersThatLinger(t *testing.T) {
	fake, informers, view := lingering(t, time.Hour)
	informers.Release(view)
	informers.Shutdown()
	waitUntil(t, "the watch ends", func() bool { open, _ := fake.watches(); return open == 0 })
}

// followed receives the versions of the followed object, "none" when it is gone.
type followed chan string

func (f followed) changed(now *object.Object) {
	if now == nil {
		f <- "none"
	} else {
		f <- now.ResourceVersion
	}
}

// until waits for a version. The first one may come twice.
func (f followed) until(t *testing.T, version string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case reported := <-f:
			if reported == version {
				return
			}
		case <-deadline:
			t.Fatalf("version %s is never reported", version)
		}
	}
}

var one = types.NamespacedName{Namespace: "ns", Name: "a"}

func TestASingleObjectIsFollowed(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	reported := make(followed, 100)
	fake.sendListed("5")
	stop, err := informers.Follow(t.Context(), things, one, reported.changed)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-reported; first != "none" {
		t.Errorf("of an object that does not exist version %s is reported", first)
	}
	fake.send("ADDED", thing("a", "6", ""))
	reported.until(t, "6")
	fake.send("MODIFIED", thing("a", "7", ""))
	reported.until(t, "7")

	another := make(followed, 100)
	stopAnother, err := informers.Follow(t.Context(), things, one, another.changed)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-another; first != "7" {
		t.Errorf("reported first is version %s, want 7", first)
	}
	fake.send("DELETED", thing("a", "8", ""))
	reported.until(t, "none")
	another.until(t, "none")
	stop()
	fake.send("ADDED", thing("a", "9", ""))
	another.until(t, "9")
	stopAnother()
	select {
	case version := <-reported:
		t.Errorf("after stop, the handler was called with version %s", version)
	default:
	}
	if _, opened := fake.watches(); opened != 1 {
		t.Errorf("%d watches were opened for two followers of one object", opened)
	}
	waitUntil(t, "the watch ends with its last follower", func() bool { open, _ := fake.watches(); return open == 0 })
	if path := fake.paths[0]; path != "/apis/example.com/v1/namespaces/ns/things" {
		t.Errorf("watched is %s, which is more than the namespace", path)
	}
	if query := fake.queries[0]; !strings.Contains(query, "fieldSelector=metadata.name%3Da&") {
		t.Errorf("watched is %s, which is more than the object", query)
	}
}

// An informer of all objects is not shared with the followers of one of them.
func TestASingleObjectHasAWatchOfItsOwn(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	all := informers.Acquire(things)
	defer informers.Release(all)
	waitUntil(t, "all are watched", func() bool { open, _ := fake.watches(); return open == 1 })
	fake.sendListed("1")
	if err := all.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			stop, err := informers.Follow(ctx, things, types.NamespacedName{Namespace: "ns", Name: name}, func(*object.Object) {})
			if err == nil {
				stop()
			}
		}()
		waitUntil(t, name+" is watched", func() bool { open, _ := fake.watches(); return open == 2 })
		cancel()
		<-done
		waitUntil(t, name+" is not watched any more", func() bool { open, _ := fake.watches(); return open == 1 })
	}
}

func TestWhyASingleObjectCannotBeFollowed(t *testing.T) {
	t.Run("the cluster refuses", func(t *testing.T) {
		fake, client := newFakeHost(t)
		fake.refuse, fake.status = 1000, http.StatusForbidden
		_, err := NewInformers(t.Context(), client, 0).Follow(t.Context(), things, one, func(*object.Object) { t.Error("something is reported") })
		if err == nil || !strings.Contains(err.Error(), "failed to list") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("the host says nothing", func(t *testing.T) {
		fake, client := newFakeHost(t)
		late := errors.New("no answer in time")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
		defer cancel()
		_, err := NewInformers(t.Context(), client, 0).Follow(ctx, things, one, func(*object.Object) { t.Error("something is reported") })
		if !errors.Is(err, late) {
			t.Errorf("error is %v, want %v", err, late)
		}
		waitUntil(t, "the watch ends", func() bool { open, _ := fake.watches(); return open == 0 })
	})
}

// The content of a Secret must not be in the log, not even at the highest verbosity.
func TestWhatASecretHoldsIsNotLogged(t *testing.T) {
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprint("from a host that streams lists ", streams), func(t *testing.T) {
			const word = "s3cret"
			body := strings.Replace(thing("a", "4", ""), `"metadata"`, `"data":"`+word+`","metadata"`, 1)
			fake, client := newFakeHost(t)
			if streams {
				fake.send("ADDED", body)
				fake.sendListed("5")
			} else {
				fake.items = body
			}
			var mu sync.Mutex
			var logged strings.Builder
			logger := funcr.New(func(_, line string) {
				mu.Lock()
				defer mu.Unlock()
				logged.WriteString(line + "\n")
			}, funcr.Options{Verbosity: 20})
			found := ""
			stop, err := NewInformers(klog.NewContext(t.Context(), logger), client, 0).Follow(t.Context(), things, one, func(now *object.Object) {
				if now != nil {
					found = string(now.JSON())
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			stop()
			if !strings.Contains(found, word) {
				t.Fatalf("it is reported as %q", found)
			}
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(logged.String(), "Request Body") {
				t.Errorf("the test does not see what the client logs:\n%s", logged.String())
			}
			if strings.Contains(logged.String(), word) {
				t.Errorf("it is logged:\n%s", logged.String())
			}
		})
	}
}
