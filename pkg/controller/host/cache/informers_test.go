// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"net/http"
	"testing"
	"time"
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
