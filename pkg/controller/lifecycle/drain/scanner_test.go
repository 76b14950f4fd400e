// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

var websRule, jobsRule = v1alpha1.ResourceRule{APIVersion: "ctl.example/v1", Resource: "webs"}, v1alpha1.ResourceRule{APIVersion: "batch/v1", Resource: "jobs"}

func TestFind(t *testing.T) {
	webs := map[string]*web{
		"a": {finalizers: []string{ours}}, "b": {finalizers: []string{"x/y"}}, "c": {finalizers: []string{"x/y", ours + "-too"}}, "d": {},
		"e": {finalizers: []string{"prefix.of/" + ours}},
	}
	for name, test := range map[string]struct {
		apiVersion, resource string
		old                  bool
		want                 []string
	}{
		"on objects of all pages":                    {"ctl.example/v2", "webs", false, []string{ours, ours + "-too"}},
		"of a server that knows no list of metadata": {"ctl.example/v2", "webs", true, []string{ours, ours + "-too"}},
		"in a version that is no longer served":      {"ctl.example/v1", "webs", false, []string{ours, ours + "-too"}},
		"of a resource that is gone":                 {"ctl.example/v2", "shops", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{T: t, webs: webs, old: test.old, metadataOnly: true}
			objects := drainer(t, c).NewScanner("metacontroller.io/compositecontroller-", nil).read(v1alpha1.ResourceRule{APIVersion: test.apiVersion, Resource: test.resource})
			found := sets.New[string]()
			for isLast := false; !isLast; {
				page, last, err := objects.next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				found.Insert(page...)
				isLast = last
			}
			if !slices.Equal(sets.List(found), slices.Sorted(slices.Values(test.want))) {
				t.Errorf("found are %v, want %v", sets.List(found), test.want)
			}
			if !c.metadataOnly {
				t.Error("a list asked for whole objects")
			}
		})
	}
}

// searching is a Scanner of a host with finalizers on its objects, and the controllers that exist.
type searching struct {
	*Scanner
	mu          sync.Mutex
	finalizers  sets.Set[string]
	controllers sets.Set[types.UID]
	err         error
	// runs counts the scans. Each of their pages takes half a second.
	runs int
}

// newSearching returns a Scanner that runs until the test ends.
func newSearching(t *testing.T, controllers ...types.UID) *searching {
	s := &searching{finalizers: sets.New[string](), controllers: sets.New(controllers...)}
	d := New(nil, nil, nil, nil)
	s.Scanner = d.NewScanner("", func() sets.Set[types.UID] {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.controllers.Clone()
	})
	s.read = func(v1alpha1.ResourceRule) finalizers { return &pagesOf{searching: s} }
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return s
}

// pagesOf are two pages; the second is empty. They show what there was when the first was read.
type pagesOf struct {
	*searching
	first bool
	found []string
}

func (p *pagesOf) next(ctx context.Context) (found []string, last bool, err error) {
	p.mu.Lock()
	if !p.first {
		p.first, p.found = true, p.finalizers.UnsortedList()
		p.runs++
	}
	err = p.err
	p.mu.Unlock()
	select {
	case <-time.After(500 * time.Millisecond):
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if err != nil {
		return nil, false, err
	}
	found, p.found = p.found, nil
	return found, len(found) == 0, nil
}

// search waits until the search has a result, or has failed.
func (s *searching) search(t *testing.T, rule v1alpha1.ResourceRule, controller types.UID, finalizer string) (bool, error) {
	told := make(chan struct{}, 100)
	for {
		found, done, err := s.Search(rule, controller, finalizer, func() { told <- struct{}{} })
		if done || err != nil {
			return found, err
		}
		select {
		case <-told:
		case <-t.Context().Done():
			t.Error("it never ends")
			return false, nil
		}
	}
}

func (s *searching) expect(t *testing.T, rule v1alpha1.ResourceRule, controller types.UID, finalizer string, want bool, scans int) {
	t.Helper()
	found, err := s.search(t, rule, controller, finalizer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || found != want || s.runs != scans {
		t.Errorf("%s is found: %v (%v) after %d scans, want %v after %d", finalizer, found, err, s.runs, want, scans)
	}
}

func TestOneSearchDoesForAllControllersThatThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const controllers = 1000
		s := newSearching(t)
		for i := range controllers {
			s.controllers.Insert(types.UID(fmt.Sprint(i)))
		}
		s.finalizers.Insert("f-7", "f-8")
		var asking sync.WaitGroup
		for i := range controllers {
			asking.Go(func() {
				found, err := s.search(t, websRule, types.UID(fmt.Sprint(i)), fmt.Sprint("f-", i))
				if err != nil || found != (i == 7 || i == 8) {
					t.Errorf("that of %d is found: %v, %v", i, found, err)
				}
			})
		}
		asking.Wait()
		if s.runs != 1 {
			t.Errorf("there were %d scans", s.runs)
		}
		otherVersion := v1alpha1.ResourceRule{APIVersion: "ctl.example/v2", Resource: "webs"}
		s.expect(t, otherVersion, "7", "f-7", true, 1)
		s.expect(t, jobsRule, "7", "f-7", true, 2) // each type is scanned
		s.Removed(websRule, "f-7")
		s.expect(t, websRule, "7", "f-7", false, 2)
		s.expect(t, jobsRule, "7", "f-7", true, 2)
	})
}

// Another server may have run the controller before.
func TestAControllerThatComesLaterIsSearchedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a")
		s.expect(t, websRule, "a", "f-a", false, 1)
		s.controllers.Insert("b")
		s.finalizers.Insert("f-b")
		s.expect(t, websRule, "b", "f-b", true, 2)
		s.expect(t, websRule, "a", "f-a", false, 2)
	})
}

func TestASearchThatHadBegunBeforeAControllerCameDoesNotDoForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a")
		var asking sync.WaitGroup
		asking.Go(func() {
			if found, err := s.search(t, websRule, "a", "f-a"); found || err != nil {
				t.Errorf("it is found: %v, %v", found, err)
			}
		})
		synctest.Wait()
		s.mu.Lock()
		s.controllers.Insert("b")
		s.finalizers.Insert("f-b")
		s.mu.Unlock()
		s.expect(t, websRule, "b", "f-b", true, 2)
		asking.Wait()
	})
}

// A scan may have passed an object before the finalizer was removed from it.
func TestWhatIsTakenOffDuringASearchIsNotFoundByIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a", "b")
		s.finalizers.Insert("f-a", "f-b")
		var asking sync.WaitGroup
		asking.Go(func() { s.expect(t, websRule, "a", "f-a", false, 1) })
		synctest.Wait()
		s.Removed(websRule, "f-a")
		asking.Wait()
		s.expect(t, websRule, "a", "f-a", false, 1)
		s.expect(t, websRule, "b", "f-b", true, 1)
	})
}

func TestASearchThatFailsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a")
		s.finalizers.Insert("f-a")
		s.err = errors.New("forbidden")
		if _, err := s.search(t, websRule, "a", "f-a"); !errors.Is(err, s.err) {
			t.Errorf("the error is %v", err)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		<-time.After(maxBackoff + time.Second)
		s.expect(t, websRule, "a", "f-a", true, 1)
	})
}

func TestASearchThatNobodyWaitsForAnyMoreEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a")
		s.err = errors.New("forbidden")
		if _, err := s.search(t, websRule, "a", "f-a"); err == nil {
			t.Error("it does not fail")
		}
		s.mu.Lock()
		s.controllers.Delete("a")
		s.mu.Unlock()
		<-time.After(maxBackoff + time.Second)
		s.Scanner.mu.Lock()
		defer s.Scanner.mu.Unlock()
		if len(s.scans) > 0 {
			t.Error("it goes on")
		}
	})
}

// The process ends; that says nothing about the host.
func TestASearchThatTheProcessEndsHasNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching(t, "a")
		d := New(nil, nil, nil, nil)
		s.queue = d.queue
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.Run(ctx) })
		tell := func() { t.Error("a result is told") }
		if _, done, err := s.Search(websRule, "a", "f-a", tell); done || err != nil {
			t.Errorf("at first the result is %v, %v", done, err)
		}
		synctest.Wait()
		stop()
		running.Wait()
		if _, done, err := s.Search(websRule, "a", "f-a", tell); done || err != nil {
			t.Errorf("after the end the result is %v, %v", done, err)
		}
	})
}
