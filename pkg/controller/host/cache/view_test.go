// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatal("never happened: ", what)
	}
}

// watched returns a host that has a thing named a, and a view that shows it.
func watched(t *testing.T) (*fakeHost, *View) {
	t.Helper()
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	view := informers.Acquire(things)
	t.Cleanup(func() { informers.Release(view) })
	fake.send("ADDED", thing("a", "2", ""))
	fake.sendListed("5")
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fake, view
}

// within returns the next message. The test fails if none comes for a while.
func within(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case next := <-from:
		return next
	case <-time.After(30 * time.Second):
		t.Fatal("nothing comes")
		return ""
	}
}

func TestWatchesAreSharedAndStopWithTheirLastUser(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	first, second := informers.Acquire(things), informers.Acquire(things)
	fake.sendListed("5")
	if err := first.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	informers.Release(first)
	if open, opened := fake.watches(); open != 1 || opened != 1 {
		t.Errorf("one watch should serve both users and go on with one of them; %d are open, %d were opened", open, opened)
	}
	informers.Release(second)
	waitUntil(t, "the watch ends with its last user", func() bool { open, _ := fake.watches(); return open == 0 })

	third := informers.Acquire(things)
	fake.sendListed("6")
	if err := third.WaitForSync(t.Context()); err != nil {
		t.Errorf("a type that was released should be watched anew: %v", err)
	}
	informers.Release(third)
}

// A type changes when its CustomResourceDefinition changes. A user who resolved it before must not
// get a view of the new type, and vice versa.
func TestWatchIsOfTheTypeThatItsUserResolved(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	before := informers.Acquire(things)
	defer informers.Release(before)
	withStatus := things
	withStatus.StatusSubresource = true
	after := informers.Acquire(withStatus)
	defer informers.Release(after)
	if after.Type != withStatus || before.Type != things {
		t.Errorf("the watches are of %+v and %+v", before.Type, after.Type)
	}
	waitUntil(t, "both are watched", func() bool { open, _ := fake.watches(); return open == 2 })
}

func TestListIsStreamed(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	view := informers.Acquire(things)
	defer informers.Release(view)
	fake.sendListed("1")
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if query := fake.queries[0]; !strings.Contains(query, "sendInitialEvents=true") {
		t.Errorf("the list should be streamed, but was asked for with %s", query)
	}
}

func TestNewTypeThatIsNotServedYetIsAskedForAgainAtOnce(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			const most, attempts = 700 * time.Millisecond, 10
			least := time.Duration(math.MaxInt64)
			for range attempts { // a machine that is busy may take long, but not each time
				if least = min(least, listedAfterRefusals(t, 3, status)); least <= most {
					return
				}
			}
			t.Errorf("it takes %s at the least, as long as if the Retry-After of a second were heeded", least)
		})
	}
}

// listedAfterRefusals returns how long it takes to list a type that the host refuses to list at
// first.
func listedAfterRefusals(t *testing.T, refusals, status int) time.Duration {
	t.Helper()
	fake, client := newFakeHost(t)
	fake.refuse, fake.status = refusals, status
	informers := NewInformers(t.Context(), client, 0)
	started := time.Now()
	view := informers.Acquire(things)
	defer informers.Release(view)
	fake.sendListed("1")
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.Since(started)
}

func TestCacheIsIndexedAndKnowsWhatItHasSeen(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	view := informers.Acquire(things)
	defer informers.Release(view)
	fake.send("ADDED", thing("owned", "2", "owner"))
	fake.send("ADDED", thing("orphan", "3", ""))
	fake.sendListed("5")
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := names(view.ControlledBy("owner")); got != "owned" {
		t.Errorf("the owner controls %q, want owned", got)
	}
	for namespace, want := range map[string]string{"ns": "orphan", "": "orphan", "other": ""} {
		if got := names(view.Orphans(namespace)); got != want {
			t.Errorf("the orphans of namespace %q are %q, want %q", namespace, got, want)
		}
	}
	found := view.Get(types.NamespacedName{Namespace: "ns", Name: "owned"})
	if found == nil || strings.Contains(string(found.JSON()), "managedFields") {
		t.Errorf("the object should be there without managedFields, but is %v", found)
	}
	if view.Get(types.NamespacedName{Namespace: "ns", Name: "nobody"}) != nil {
		t.Error("what is not there was found")
	}

	if !view.Seen("5") || view.Seen("7") {
		t.Error("the cache has seen version 5 and not yet version 7")
	}
	fake.send("MODIFIED", thing("orphan", "7", "owner"))
	waitUntil(t, "version 7 is seen", func() bool { return view.Seen("7") })
	if got := names(view.ControlledBy("owner")); got != "orphan owned" && got != "owned orphan" {
		t.Errorf("the owner controls %q after adopting", got)
	}
	fake.send("DELETED", thing("owned", "9", "owner"))
	waitUntil(t, "the deletion is seen", func() bool { return view.Seen("9") })
	if got := names(view.List()); got != "orphan" {
		t.Errorf("there are %q, want orphan", got)
	}
}

func names(objects []*object.Object) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.Name)
	}
	return strings.Join(names, " ")
}

func TestObjectsOfANamespace(t *testing.T) {
	fake, view := watched(t)
	if got := names(view.In("ns")); got != "a" {
		t.Errorf("in the namespace is %q, want a", got)
	}
	fake.send("ADDED", thing("b", "6", "owner"))
	waitUntil(t, "b is seen", func() bool { return view.Seen("6") })
	if got := names(view.In("ns")); got != "a b" && got != "b a" {
		t.Errorf("in the namespace is %q, want a b", got)
	}
	if got := names(view.In("other")); got != "" {
		t.Errorf("in another namespace is %q", got)
	}
}

func TestAWatchTellsWhyTheHostRefusesIt(t *testing.T) {
	fake, client := newFakeHost(t)
	fake.refuse, fake.status = 1000, http.StatusForbidden
	informers := NewInformers(t.Context(), client, 0)
	view := informers.Acquire(things)
	defer informers.Release(view)
	waitUntil(t, "the host's answer is reported", func() bool { return view.ListError() != nil })
	select {
	case <-view.Synced():
		t.Error("what was refused counts as filled")
	default:
	}
}

func TestChangeHandlerPassesOverWhatIsThere(t *testing.T) {
	for _, filled := range []bool{true, false} {
		t.Run(fmt.Sprint("the cache is filled ", filled), func(t *testing.T) {
			fake, client := newFakeHost(t)
			informers := NewInformers(t.Context(), client, 0)
			view := informers.Acquire(things)
			defer informers.Release(view)
			list := func() {
				fake.send("ADDED", thing("a", "2", ""))
				fake.sendListed("5")
				if err := view.WaitForSync(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if filled {
				list()
			}
			changes := make(chan string, 10)
			_, err := view.AddChangeHandler(func(before, after *object.Object) { changes <- after.Name + after.ResourceVersion })
			if err != nil {
				t.Fatal(err)
			}
			if !filled {
				list()
			}
			fake.send("ADDED", thing("b", "6", ""))
			fake.send("MODIFIED", thing("a", "7", ""))
			for _, want := range []string{"b6", "a7"} {
				if got := <-changes; got != want {
					t.Errorf("the change is %s, want %s", got, want)
				}
			}
		})
	}
}

// versions returns the versions of an object before and after a change.
func versions(before, after *object.Object) string {
	version := func(o *object.Object) string {
		if o == nil {
			return "none"
		}
		return o.ResourceVersion
	}
	return version(before) + "->" + version(after)
}

func TestAFilteredHandlerGetsTheChangesThatPassItsFilter(t *testing.T) {
	fake, view := watched(t)
	asked, reported := make(chan string, 10), make(chan string, 10)
	_, err := view.AddFilteredHandler(func(before, after *object.Object) bool {
		asked <- versions(before, after)
		return after == nil || after.ResourceVersion == "7"
	}, func(before, after *object.Object) { reported <- versions(before, after) })
	if err != nil {
		t.Fatal(err)
	}
	// Each comes after the one before, because changes that come together are joined.
	for _, step := range []struct{ kind, version, change string }{{"MODIFIED", "6", "2->6"}, {"MODIFIED", "7", "6->7"}, {"DELETED", "8", "8->none"}} {
		fake.send(step.kind, thing("a", step.version, ""))
		if got := within(t, asked); got != step.change {
			t.Errorf("asked about is %s, want %s", got, step.change)
		}
		if step.version == "6" {
			continue // it does not pass
		}
		if got := within(t, reported); got != step.change {
			t.Errorf("reported is %s, want %s", got, step.change)
		}
	}
}

func TestEventHandlerGetsWhatIsThereAndWhatChanges(t *testing.T) {
	fake, view := watched(t)
	changes := make(chan string, 10)
	registration, err := view.AddEventHandler(func(before, after *object.Object, isInInitialList bool) {
		change := versions(before, after)
		if isInInitialList {
			change += " at first"
		}
		changes <- change
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each comes after the one before, because changes that come together are joined.
	for _, step := range []struct{ kind, version, want string }{
		{"", "", "none->2 at first"}, {"MODIFIED", "6", "2->6"}, {"DELETED", "7", "7->none"}, {"ADDED", "8", "none->8"},
	} {
		if step.kind != "" {
			fake.send(step.kind, thing("a", step.version, ""))
		}
		if got := within(t, changes); got != step.want {
			t.Errorf("the change is %s, want %s", got, step.want)
		}
	}
	registration.Stop()
	fake.send("ADDED", thing("b", "9", ""))
	waitUntil(t, "b is in the cache", func() bool { return view.Seen("9") })
	select {
	case change := <-changes:
		t.Errorf("a handler that was stopped was called with %s", change)
	default:
	}
}

func TestAHandlerHasDeliveredWhatWasThere(t *testing.T) {
	_, view := watched(t)
	called, goOn := make(chan struct{}), make(chan struct{})
	registration, err := view.AddEventHandler(func(_, _ *object.Object, _ bool) {
		close(called)
		<-goOn
	})
	if err != nil {
		t.Fatal(err)
	}
	<-called
	if registration.HasDelivered() {
		t.Error("the handler is still at work on the first object")
	}
	close(goOn)
	waitUntil(t, "the handler has been called for all objects", registration.HasDelivered)
	registration.Stop()

	nothing, err := view.AddChangeHandler(func(_, _ *object.Object) {})
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Stop()
	if !nothing.HasDelivered() {
		t.Error("a handler that is called for changes alone waits for something")
	}
}

func TestAWatchThatTheHostRefusesIsFailingUntilItDoesNot(t *testing.T) {
	fake, view := watched(t)
	fake.mu.Lock()
	fake.refuse, fake.status = 2, http.StatusForbidden
	fake.mu.Unlock()
	fake.server.CloseClientConnections()
	waitUntil(t, "it fails", func() bool { return view.informer.watchError(view, 0) != nil })
	if err := view.WatchError(); err != nil {
		t.Errorf("a host that has been away for a moment is reported: %v", err)
	}
	fake.sendListed("6")
	fake.send("ADDED", thing("b", "7", ""))
	waitUntil(t, "it does not fail any more", func() bool { return view.informer.watchError(view, 0) == nil })
}

func TestWhatAViewThatIsNotSyncedWaitsFor(t *testing.T) {
	t.Run("the cluster refuses", func(t *testing.T) {
		fake, client := newFakeHost(t)
		fake.refuse, fake.status = 1000, http.StatusForbidden
		view := NewInformers(t.Context(), client, 0).Acquire(things)
		waitUntil(t, "that is told at once", func() bool { return view.WatchError() != nil })
	})
	t.Run("the cluster does not stream lists, and does not end its list", func(t *testing.T) {
		fake, client := newFakeHost(t)
		fake.items, fake.hangs = thing("a", "2", ""), true
		view := NewInformers(t.Context(), client, 0).Acquire(things)
		waitUntil(t, "it is listed", func() bool { fake.mu.Lock(); defer fake.mu.Unlock(); return len(fake.lists) > 0 })
		if view.WaitsSince().IsZero() || view.WatchError() != nil {
			t.Errorf("it waits since %s, the error is %v", view.WaitsSince(), view.WatchError())
		}
	})
	t.Run("the cluster does not end a streamed list", func(t *testing.T) {
		before := time.Now()
		fake, client := newFakeHost(t)
		view := NewInformers(t.Context(), client, 0).Acquire(things)
		fake.send("ADDED", thing("a", "2", ""))
		waitUntil(t, "it is watched", func() bool { open, _ := fake.watches(); return open == 1 })
		if since := view.WaitsSince(); since.Before(before) || view.WatchError() != nil {
			t.Errorf("it waits since %s, the error is %v", since, view.WatchError())
		}
		fake.sendListed("5")
		waitUntil(t, "it waits no more", func() bool { return view.WaitsSince().IsZero() })
	})
	t.Run("the host cuts a streamed list", func(t *testing.T) {
		fake, client := newFakeHost(t)
		view := NewInformers(t.Context(), client, 0).Acquire(things)
		fake.send("ADDED", thing("a", "2", ""))
		waitUntil(t, "it is watched", func() bool { open, _ := fake.watches(); return open == 1 })
		fake.server.CloseClientConnections()
		waitUntil(t, "that is told", func() bool { return errors.Is(view.WatchError(), errCutList) })
	})
	t.Run("a user that selects more, while another one is synced", func(t *testing.T) {
		fake, client := newSelectingHost(t)
		informers := NewInformers(t.Context(), client, 0)
		first := listen(t, informers, "app=x")
		first.sync(t)
		fake.refuse(func(selector string) bool { return selector == "" })
		second := listen(t, informers, "")
		waitUntil(t, "the second is told why", func() bool { return second.WatchError() != nil && !second.WaitsSince().IsZero() })
		if !first.WaitsSince().IsZero() || first.informer.watchError(first.View, 0) != nil {
			t.Error("the trouble of the second is that of the first, too")
		}
	})
}

// A request that succeeds says nothing about a watch that breaks after it.
func TestAWatchThatBreaksAgainAndAgainIsFailingUntilItLasts(t *testing.T) {
	for name, test := range map[string]struct{ sent, why string }{
		"it ends in an error":  {`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"conversion failed"}}`, "conversion failed"},
		"it cannot be decoded": {`{"type":"ADDED","object":{"metadata":[]}}`, "unable to decode"},
		"it just ends":         {"", "ends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the reflector backs off for some seconds
			fake, view := watched(t)
			fake.setBreaking(true, test.sent)
			fake.server.CloseClientConnections()
			waitUntil(t, "it is watched again", func() bool { _, opened := fake.watches(); return opened > 1 })
			waitUntil(t, "the error says "+test.why, func() bool {
				err := view.informer.watchError(view, 0)
				return err != nil && strings.Contains(err.Error(), test.why)
			})
			fake.setBreaking(false, "")
			fake.send("ADDED", thing("b", "6", ""))
			fake.sendListed("6") // the reflector may list again
			fake.send("MODIFIED", thing("b", "7", ""))
			waitUntil(t, "it sends a change", func() bool { return view.Seen("7") })
			waitUntil(t, "it does not fail any more", func() bool { return view.informer.watchError(view, 0) == nil })
		})
	}
}

// The host forgets old versions; the reflector then lists again.
func TestAWatchOfAVersionThatIsTooOldIsNoTrouble(t *testing.T) {
	fake, view := watched(t)
	fake.send("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old"}`)
	waitUntil(t, "it is watched again", func() bool { _, opened := fake.watches(); return opened > 1 })
	if err := view.informer.watchError(view, 0); err != nil {
		t.Errorf("the error is %v", err)
	}
}

func TestVersionsThatGoBackwardsCannotBeCompared(t *testing.T) {
	_, client := newFakeHost(t)
	view := NewInformers(t.Context(), client, 0).Acquire(things)
	list := func(version string) {
		t.Helper()
		if err := view.informer.current.Replace(nil, version); err != nil {
			t.Fatal(err)
		}
	}
	list("900")
	list("901")
	if got := view.Rewinds(); got != 0 {
		t.Errorf("the versions went backwards %d times", got)
	}
	list("500")
	list("501")
	if got := view.Rewinds(); got != 1 || view.Seen("900") {
		t.Errorf("the versions went backwards %d times", got)
	}
}

// An answer from the watch cache of a kube-apiserver may be older than what this process, or the
// leader before it, has written.
func TestWhereListsAreNotStreamedTheyAreConsistent(t *testing.T) {
	fake, client := newFakeHost(t)
	fake.items = thing("a", "4", "")
	view := NewInformers(t.Context(), client, 0).Acquire(things)
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if len(fake.lists) == 0 {
		t.Error("nothing was listed")
	}
	for _, query := range fake.lists {
		if query.Get("resourceVersion") != "" || query.Has("resourceVersionMatch") {
			t.Errorf("listed is %v, which lets the host answer with former objects", query)
		}
		if query.Get("limit") == "" {
			t.Errorf("listed is %v, want it in pages", query)
		}
	}
}
