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

	"k8s.io/apimachinery/pkg/runtime/schema"
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
			found, err := drainer(t, c).find(t.Context(), v1alpha1.ResourceRule{APIVersion: test.apiVersion, Resource: test.resource}, "metacontroller.io/compositecontroller-")
			if err != nil || !slices.Equal(sets.List(found), slices.Sorted(slices.Values(test.want))) {
				t.Errorf("found are %v, %v, want %v", sets.List(found), err, test.want)
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
	// runs counts the scans. Each takes a second.
	runs int
}

func newSearching(controllers ...types.UID) *searching {
	s := &searching{finalizers: sets.New[string](), controllers: sets.New(controllers...)}
	s.Scanner = &Scanner{find: s.find, existing: func() sets.Set[types.UID] {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.controllers.Clone()
	}, scans: map[schema.GroupResource]*scan{}}
	return s
}

func (s *searching) find(context.Context, v1alpha1.ResourceRule) (sets.Set[string], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	found, err := s.finalizers.Clone(), s.err
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	return found, err
}

func (s *searching) expect(t *testing.T, rule v1alpha1.ResourceRule, controller types.UID, finalizer string, want bool, scans int) {
	t.Helper()
	found, err := s.Search(t.Context(), rule, controller, finalizer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || found != want || s.runs != scans {
		t.Errorf("%s is found: %v (%v) after %d scans, want %v after %d", finalizer, found, err, s.runs, want, scans)
	}
}

func TestOneSearchDoesForAllControllersThatThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const controllers = 1000
		s := newSearching()
		for i := range controllers {
			s.controllers.Insert(types.UID(fmt.Sprint(i)))
		}
		s.finalizers.Insert("f-7", "f-8")
		var asking sync.WaitGroup
		for i := range controllers {
			asking.Go(func() {
				found, err := s.Search(t.Context(), websRule, types.UID(fmt.Sprint(i)), fmt.Sprint("f-", i))
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
		s := newSearching("a")
		s.expect(t, websRule, "a", "f-a", false, 1)
		s.controllers.Insert("b")
		s.finalizers.Insert("f-b")
		s.expect(t, websRule, "b", "f-b", true, 2)
		s.expect(t, websRule, "a", "f-a", false, 2)
	})
}

func TestASearchThatHadBegunBeforeAControllerCameDoesNotDoForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching("a")
		var asking sync.WaitGroup
		asking.Go(func() {
			if found, err := s.Search(t.Context(), websRule, "a", "f-a"); found || err != nil {
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
		s := newSearching("a", "b")
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

func TestASearchThatFailsIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearching("a")
		s.err = errors.New("forbidden")
		if _, err := s.Search(t.Context(), websRule, "a", "f-a"); !errors.Is(err, s.err) {
			t.Errorf("the error is %v", err)
		}
		s.err = nil
		s.finalizers.Insert("f-a")
		s.expect(t, websRule, "a", "f-a", true, 2)
	})
}
