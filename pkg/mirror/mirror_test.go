// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

var errDown = errors.New("it is down")

// origin is an origin of Pods, which are on a node of its name.
type origin struct {
	name string

	mu sync.Mutex
	// pods are what it has. followers tell of changes.
	pods      map[string]bool
	followers map[chan []string]bool
	// down ends all followers, and has others fail; silent has others tell nothing.
	down, silent bool
}

func newOrigin(name string, pods ...string) *origin {
	o := &origin{name: name, pods: map[string]bool{}, followers: map[chan []string]bool{}}
	o.set(true, pods...)
	return o
}

func (o *origin) set(exists bool, pods ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pod := range pods {
		if exists {
			o.pods[pod] = true
		} else {
			delete(o.pods, pod)
		}
	}
	for follower := range o.followers {
		follower <- pods
	}
}

func (o *origin) setDown(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = down
	if down {
		for follower := range o.followers {
			close(follower)
		}
		clear(o.followers)
	}
}

func (o *origin) isFollowed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.followers) > 0
}

func (o *origin) Follow(ctx context.Context, tell Tell[*corev1.Pod]) error {
	o.mu.Lock()
	if o.down {
		o.mu.Unlock()
		return errDown
	}
	if o.silent {
		o.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	changes := make(chan []string, 100)
	o.followers[changes] = true
	first, _ := o.describe(slices.Sorted(maps.Keys(o.pods)))
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.followers, changes)
		o.mu.Unlock()
	}()
	if err := tell(first, nil); err != nil {
		return err
	}
	for {
		select {
		case names, ok := <-changes:
			if !ok {
				return errDown
			}
			o.mu.Lock()
			changed, gone := o.describe(names)
			o.mu.Unlock()
			if err := tell(changed, gone); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *origin) describe(names []string) (changed []*corev1.Pod, gone []types.NamespacedName) {
	for _, name := range names {
		if o.pods[name] {
			changed = append(changed, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: o.name}})
		} else {
			gone = append(gone, types.NamespacedName{Namespace: "ns", Name: name})
		}
	}
	return changed, gone
}

// world is a mirror of a local origin and others, in a bubble.
type world struct {
	*testing.T
	mirror *Mirror[*corev1.Pod]
	local  *origin
	mu     sync.Mutex
	others map[string]*origin
}

func inWorld(t *testing.T, local *origin, others []*origin, do func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, local: local, others: map[string]*origin{}}
		for _, other := range others {
			w.others[other.name] = other
		}
		store := memory.New(memory.Kind[*corev1.Pod]{
			Copy: (*corev1.Pod).DeepCopy, New: func() *corev1.Pod { return &corev1.Pod{} },
		}, time.Now())
		w.mirror = New(store, Origins[*corev1.Pod]{Local: local, Others: func(context.Context) (map[string]Origin[*corev1.Pod], error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			all := map[string]Origin[*corev1.Pod]{}
			for name, other := range w.others {
				all[name] = other
			}
			return all, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.mirror.Run(ctx) })
		synctest.Wait()
		do(w)
		cancel()
		running.Wait()
		for _, one := range append(others, local) {
			if one.isFollowed() {
				t.Errorf("%s is still followed", one.name)
			}
		}
	})
}

func (w *world) leave(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.others, name)
}

// shown returns what one sees who looks now: "<pod>@<origin>", and the replicas that are missing behind a minus.
func (w *world) shown() string {
	w.Helper()
	view, err := w.mirror.Open(w.Context())
	if err != nil {
		return err.Error()
	}
	defer view.Close()
	return shownBy(w.T, view)
}

func shownBy(t *testing.T, view *View[*corev1.Pod]) string {
	pods, _, err := view.Store.List(memory.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, pod := range pods {
		texts = append(texts, pod.Name+"@"+pod.Spec.NodeName)
	}
	for _, missing := range view.Missing {
		texts = append(texts, "-"+missing)
	}
	return strings.Join(texts, " ")
}

// expectRows expects rows, whoever is missing.
func (w *world) expectRows(want string) {
	w.Helper()
	rows, _, _ := strings.Cut(w.shown(), " -")
	if rows != want {
		w.Errorf("shown is %q, want %q", rows, want)
	}
}

func (w *world) expect(want string) {
	w.Helper()
	if got := w.shown(); got != want {
		w.Errorf("shown is %q, want %q", got, want)
	}
}

func TestNothingIsKeptWhileNobodyLooks(t *testing.T) {
	local, other := newOrigin("local", "a"), newOrigin("other", "b")
	inWorld(t, local, []*origin{other}, func(w *world) {
		<-time.After(time.Hour)
		if local.isFollowed() || other.isFollowed() {
			t.Error("they are followed although nobody looks")
		}
		w.expect("a@local b@other")
		<-time.After(linger / 2)
		local.set(true, "c")
		synctest.Wait()
		if !local.isFollowed() || !other.isFollowed() {
			t.Error("they are not followed any more")
		}
		view, err := w.mirror.Open(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if got := shownBy(w.T, view); got != "a@local b@other c@local" {
			t.Errorf("who looks for long sees %q", got)
		}
		view.Close()
		<-time.After(2 * linger)
		synctest.Wait()
		if local.isFollowed() || other.isFollowed() {
			t.Error("they are followed for long after the last look")
		}
		local.set(false, "a")
		w.expect("b@other c@local")
	})
}

func TestWhatChanges(t *testing.T) {
	local, other := newOrigin("local", "a", "b"), newOrigin("other", "c")
	inWorld(t, local, []*origin{other}, func(w *world) {
		w.expect("a@local b@local c@other")
		local.set(false, "b")
		other.set(true, "d")
		synctest.Wait()
		w.expect("a@local c@other d@other")

		other.set(true, "a") // it takes over from the local one
		synctest.Wait()
		local.set(false, "a")
		synctest.Wait()
		w.expect("a@other c@other d@other")
	})
}

func TestAReplicaThatDoesNotAnswerIsMissing(t *testing.T) {
	for name, fail := range map[string]func(*origin){
		"it fails":        func(o *origin) { o.down = true },
		"it does nothing": func(o *origin) { o.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			down := newOrigin("down", "b")
			fail(down)
			inWorld(t, newOrigin("local", "a"), []*origin{down}, func(w *world) {
				began := time.Now()
				w.expect("a@local -down")
				if took := time.Since(began); took > patience {
					t.Errorf("it took %s", took)
				}
				down.setDown(false)
				if !down.silent {
					<-time.After(retryInterval)
					synctest.Wait()
					w.expect("a@local b@down")
				}
			})
		})
	}
}

// What a replica had that is gone is shown until others have taken it over.
func TestAReplicaGoes(t *testing.T) {
	local, killed := newOrigin("local", "a"), newOrigin("killed", "b", "c")
	inWorld(t, local, []*origin{killed}, func(w *world) {
		w.expect("a@local b@killed c@killed")
		killed.setDown(true)
		synctest.Wait()
		w.expect("a@local b@killed c@killed -killed")
		<-time.After(grace / 2)
		w.leave("killed")
		local.set(true, "b")
		<-time.After(retryInterval)
		synctest.Wait()
		w.expect("a@local b@local c@killed")
		<-time.After(grace)
		synctest.Wait()
		w.expect("a@local b@local")
	})
}

func TestAReplicaComesBackWithLess(t *testing.T) {
	other := newOrigin("other", "b", "c")
	inWorld(t, newOrigin("local", "a"), []*origin{other}, func(w *world) {
		w.expect("a@local b@other c@other")
		other.setDown(true)
		synctest.Wait()
		other.set(false, "b")
		other.setDown(false)
		<-time.After(2 * retryInterval)
		synctest.Wait()
		w.expect("a@local c@other")
	})
}

func TestWithoutThisProcessNothingIsShown(t *testing.T) {
	local := newOrigin("local", "a")
	inWorld(t, local, []*origin{newOrigin("other", "b")}, func(w *world) {
		w.expect("a@local b@other")
		local.setDown(true)
		synctest.Wait()
		w.expect(errDown.Error())
		local.setDown(false)
		<-time.After(retryInterval)
		synctest.Wait()
		w.expect("a@local b@other")
	})
}

func TestAMirrorThatDoesNotRunShowsNothing(t *testing.T) {
	m := New(memory.New(memory.Kind[*corev1.Pod]{}, time.Now()), Origins[*corev1.Pod]{Local: newOrigin("local")})
	if _, err := m.Open(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("error is %v", err)
	}
}
