// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func parsed(t testing.TB, selector string) labels.Selector {
	t.Helper()
	found, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// listener is a view whose handler records the changes.
type listener struct {
	*View

	mu       sync.Mutex
	reported []string
	// state has the versions of the objects by the changes that were recorded.
	state map[string]string
	wrong []string
}

// listen acquires a view and adds a handler.
func listen(t *testing.T, informers *Informers, selector string) *listener {
	t.Helper()
	l := &listener{View: informers.AcquireSelected(things, parsed(t, selector)), state: map[string]string{}}
	if _, err := l.AddEventHandler(l.changed); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *listener) changed(before, after *object.Object, _ bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case before == nil:
		l.reported = append(l.reported, "+"+after.Name+after.ResourceVersion)
		if was := l.state[after.Name]; was != "" {
			l.wrong = append(l.wrong, fmt.Sprintf("%s is reported to be new, and was there", after.Name))
		}
		l.state[after.Name] = after.ResourceVersion
	case after == nil:
		l.reported = append(l.reported, "-"+before.Name)
		if l.state[before.Name] == "" {
			l.wrong = append(l.wrong, fmt.Sprintf("%s is reported to be gone, and was not there", before.Name))
		}
		delete(l.state, before.Name)
	default:
		l.reported = append(l.reported, "~"+after.Name+after.ResourceVersion)
		if was := l.state[before.Name]; was != before.ResourceVersion || !isAtLeast(after.ResourceVersion, was) {
			l.wrong = append(l.wrong, fmt.Sprintf("%s is reported to change from %s to %s, and was %q", after.Name, before.ResourceVersion, after.ResourceVersion, was))
		}
		l.state[after.Name] = after.ResourceVersion
	}
}

// heard returns the changes so far.
func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.reported, " ")
}

func (l *listener) hears(t *testing.T, want string) {
	t.Helper()
	waitUntil(t, fmt.Sprintf("%q is reported", want), func() bool { return l.heard() == want })
}

// sync waits until the view is filled and the handler was called for all that is in it. Later changes are then
// not joined with these.
func (l *listener) sync(t *testing.T) {
	t.Helper()
	if err := l.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "all objects are reported", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return !slices.ContainsFunc(l.List(), func(o *object.Object) bool { return l.state[o.Name] != o.ResourceVersion })
	})
}

func (l *listener) has(name string) bool {
	return l.Get(types.NamespacedName{Namespace: "ns", Name: name}) != nil
}

func TestOnlyWhatIsSelectedIsWatched(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("in", "app=x")
	fake.set("out", "app=y")
	informers := NewInformers(t.Context(), client, 0)
	user := listen(t, informers, "app=x")
	defer informers.Release(user.View)
	user.sync(t)
	user.hears(t, "+in101")
	if fake.listed != 1 || fake.streams[0] != "app in (x)" {
		t.Errorf("%d things were listed with the selector %q", fake.listed, fake.streams[0])
	}
	fake.set("out", "app=x")
	user.hears(t, "+in101 +out103")
	left := fake.set("in", "app=y")
	user.hears(t, "+in101 +out103 -in")
	if !user.Seen(fmt.Sprint(left)) || user.has("in") {
		t.Error("the cache does not show that an object is no longer selected")
	}
}

func TestAllSelectorsOfATypeAreWatchedAtOnce(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("x", "app=x")
	fake.set("y", "app=y")
	fake.set("z", "app=z")
	informers := NewInformers(t.Context(), client, 0)
	first := listen(t, informers, "app=x")
	first.sync(t)
	second := listen(t, informers, "app=y")
	second.sync(t)
	first.hears(t, "+x101")
	second.hears(t, "+y102")
	waitUntil(t, "one watch is left", func() bool { _, open := fake.watched(); return open == 1 })
	if streams, _ := fake.watched(); !slices.Equal(streams, []string{"app in (x)", "app in (x,y)"}) || fake.listed != 3 {
		t.Errorf("watched was %q, and %d objects were listed", streams, fake.listed)
	}
	if first.has("y") || !first.has("x") || len(first.List()) != 1 || len(first.In("ns")) != 1 || len(first.Orphans("")) != 1 || second.has("x") {
		t.Error("a user sees what another one has selected")
	}

	fake.set("y", "app=x")
	first.hears(t, "+x101 +y104")
	second.hears(t, "+y102 -y")

	third := listen(t, informers, "app=y,tier=back")
	third.sync(t)
	if streams, _ := fake.watched(); len(streams) != 2 {
		t.Errorf("what is there already was listed again with the selector %q", streams[2])
	}
	for _, user := range []*listener{first, second, third} {
		informers.Release(user.View)
	}
	waitUntil(t, "the watch ends with its last user", func() bool { _, open := fake.watched(); return open == 0 })
}

func TestWatchGoesOnWhileItIsWidened(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("x", "app=x")
	fake.set("y", "app=y")
	informers := NewInformers(t.Context(), client, 0)
	first := listen(t, informers, "app=x")
	defer informers.Release(first.View)
	first.sync(t)

	fake.refuse(func(selector string) bool { return selector == "" })
	second := listen(t, informers, "")
	waitUntil(t, "the cluster refuses", func() bool { return second.ListError() != nil })
	fake.set("x", "app=x")
	first.hears(t, "+x101 ~x103")
	if second.heard() != "" {
		t.Errorf("reported before all is there: %s", second.heard())
	}
	select {
	case <-second.Synced():
		t.Error("what was refused counts as filled")
	default:
	}
	informers.Release(second.View)
	fake.set("x", "app=z")
	first.hears(t, "+x101 ~x103 -x")
}

// The wider watch may be behind what the first one has shown already.
func TestWideningDoesNotTurnBackTime(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("gone", "app=x")
	informers := NewInformers(t.Context(), client, 0)
	first := listen(t, informers, "app=x")
	defer informers.Release(first.View)
	first.sync(t)
	gate := fake.gate("")
	second := listen(t, informers, "")
	defer informers.Release(second.View)
	waitUntil(t, "the wider watch begins", func() bool { streams, _ := fake.watched(); return len(streams) == 2 })
	fake.set("gone", "")
	fake.set("new", "app=x")
	first.hears(t, "+gone101 -gone +new103")
	gate <- struct{}{}
	waitUntil(t, "the wider watch has listed", func() bool {
		second.informer.mu.RLock()
		defer second.informer.mu.RUnlock()
		return second.informer.current.selection.nonEmpty && (second.informer.next == nil || second.informer.next.isListed)
	})
	if second.has("gone") || !first.has("new") {
		t.Error("a watch is used that is behind")
	}
	select {
	case <-second.Synced():
		t.Error("a watch that is behind counts as filled")
	default:
	}
	gate <- struct{}{}
	second.sync(t)
	if !second.has("new") || second.has("gone") {
		t.Error("the wider watch is used before it is up to date")
	}
	second.hears(t, "+new103")
	fake.set("new", "app=y")
	first.hears(t, "+gone101 -gone +new103 -new")
	second.hears(t, "+new103 ~new104")
}

func TestWatchIsNarrowedWhenTheHostEndsIt(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("x", "app=x")
	fake.set("y", "app=y")
	informers := NewInformers(t.Context(), client, 0)
	first, second := listen(t, informers, "app=x"), listen(t, informers, "")
	defer informers.Release(first.View)
	first.sync(t)
	second.sync(t)
	informers.Release(second.View)
	before, _ := fake.watched()
	fake.endWatches()
	waitUntil(t, "the watch is narrowed", func() bool {
		streams, open := fake.watched()
		return open == 1 && slices.Contains(streams[len(before):], "app in (x)")
	})
	waitUntil(t, "what nobody wants is dropped", func() bool { return len(first.informer.indexer().List()) == 1 })
	fake.set("x", "app=x")
	first.hears(t, "+x101 ~x103")
}

func TestWideningWhereListsAreNotStreamed(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.lists = true
	fake.set("x", "app=x")
	fake.set("y", "app=y")
	informers := NewInformers(t.Context(), client, 0)
	first := listen(t, informers, "app=x")
	defer informers.Release(first.View)
	first.sync(t)
	second := listen(t, informers, "app=y")
	defer informers.Release(second.View)
	second.sync(t)
	second.hears(t, "+y102")
	fake.set("x", "app=y")
	first.hears(t, "+x101 -x")
	second.hears(t, "+y102 +x103")
}

// Views come and go while things change and watches end. The handlers of the views that stay get
// each change once, in order, and know all things in the end.
func TestUsersComeAndGoWhileThingsChange(t *testing.T) {
	selectors := []string{"a=1", "a=2", "a in (1,2)", "b=1", "a=1,b=2", "a notin (0)", ""}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			fake, client := newSelectingHost(t)
			informers := NewInformers(t.Context(), client, 0)
			var users []*listener
			for range 60 {
				for range random.IntN(4) {
					fake.anyThing(random)
				}
				switch action := random.IntN(10); {
				case action < 4:
					users = append(users, listen(t, informers, selectors[random.IntN(len(selectors))]))
				case action < 6 && len(users) > 1:
					informers.Release(users[0].View)
					users = users[1:]
				case action == 6:
					fake.endWatches()
				case len(users) > 0:
					users[len(users)-1].sync(t)
				}
			}
			for _, user := range users {
				user.sync(t)
				want := fake.selected(user.selector())
				waitUntil(t, fmt.Sprintf("%s is what is there, and what is reported", want), func() bool {
					there := map[string]string{}
					for _, thing := range user.List() {
						there[thing.Name] = thing.ResourceVersion
					}
					user.mu.Lock()
					defer user.mu.Unlock()
					return maps.Equal(there, want) && maps.Equal(user.state, want)
				})
				user.mu.Lock()
				if len(user.wrong) > 0 {
					t.Errorf("wrong is what is reported: %q", user.wrong)
				}
				user.mu.Unlock()
			}
			for _, user := range users {
				informers.Release(user.View)
			}
			waitUntil(t, "all watches end", func() bool { _, open := fake.watched(); return open == 0 })
		})
	}
}

// selector returns the only selector of the view.
func (l *listener) selector() labels.Selector {
	if len(l.selectors) == 0 {
		return labels.Everything()
	}
	return l.selectors[0]
}

func TestWideningNeedsNoMoreThanTwoWatches(t *testing.T) {
	fake, client := newSelectingHost(t)
	informers := NewInformers(t.Context(), client, 0)
	for i := range 5 {
		user := listen(t, informers, fmt.Sprint("a=", i))
		defer informers.Release(user.View)
		user.sync(t)
		waitUntil(t, "one watch is left", func() bool { _, open := fake.watched(); return open == 1 })
	}
	if fake.most > 2 {
		t.Errorf("%d watches were open at once", fake.most)
	}
}

func TestASelectorThatSelectsNothingIsNotWatched(t *testing.T) {
	fake, client := newSelectingHost(t)
	informers := NewInformers(t.Context(), client, 0)
	user := listen(t, informers, "a=1,a=2")
	defer informers.Release(user.View)
	user.sync(t)
	if streams, _ := fake.watched(); len(streams) > 0 {
		t.Errorf("watched is %q", streams)
	}
}

func TestAWatchThatWasReleasedTellsNothing(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.set("x", "app=x")
	informers := NewInformers(t.Context(), client, 0)
	user := listen(t, informers, "app=x")
	user.sync(t)
	user.hears(t, "+x101")
	informers.Release(user.View)
	if _, err := user.AddEventHandler(user.changed); err == nil {
		t.Error("a handler can be added to a view that was released")
	}
}

func TestNobodyIsBlindBecauseOfWhatOthersWant(t *testing.T) {
	fake, client := newSelectingHost(t)
	fake.refuse(func(selector string) bool { return selector == "" })
	informers := NewInformers(t.Context(), client, 0)
	first := listen(t, informers, "app=x")
	defer informers.Release(first.View)
	first.sync(t)
	second := listen(t, informers, "")
	waitUntil(t, "it is reported that nothing can be watched", func() bool { return second.informer.watchError(second.View, 0) != nil })
	if err := first.informer.watchError(first.View, 0); err != nil {
		t.Errorf("what is watched counts as not watched: %v", err)
	}
	informers.Release(second.View)
	if err := first.informer.watchError(first.View, 0); err != nil {
		t.Errorf("after who wanted more has gone, what is watched counts as not watched: %v", err)
	}
}

func TestAFilterHidesObjectsAndAsksTheHostForNoFewer(t *testing.T) {
	fake, client := newFakeHost(t)
	informers := NewInformers(t.Context(), client, 0)
	all := informers.Acquire(things)
	named := func(o *object.Object) bool { return strings.HasPrefix(o.Name, "ours-") }
	filtered := &listener{View: informers.AcquireFiltered(things, named), state: map[string]string{}}
	if _, err := filtered.AddEventHandler(filtered.changed); err != nil {
		t.Fatal(err)
	}
	defer informers.Release(all)
	defer informers.Release(filtered.View)
	fake.send("ADDED", thing("ours-a", "2", ""))
	fake.send("ADDED", thing("theirs", "3", ""))
	fake.sendListed("5")
	filtered.sync(t)
	fake.send("MODIFIED", thing("theirs", "6", ""))
	fake.send("MODIFIED", thing("ours-a", "7", ""))
	filtered.hears(t, "+ours-a2 ~ours-a7")
	if len(all.List()) != 2 || len(filtered.List()) != 1 {
		t.Errorf("%d objects are shown without the filter and %d with it, want 2 and 1", len(all.List()), len(filtered.List()))
	}
	for _, shown := range all.List() {
		if got := filtered.Get(shown.Key()); (got != nil) != named(shown) {
			t.Errorf("%s is shown as %v", shown, got)
		}
	}
}
