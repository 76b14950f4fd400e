// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var ourWebs = v1alpha1.ResourceRule{APIVersion: "ctl.example/v2", Resource: "webs"}

// slowly answers requests after a while, without a network, so that it can be used where time is
// virtual. The answer to a request for a page comes as soon as before says.
type slowly struct {
	handler http.Handler
	before  func(ctx context.Context, page string)
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/webs") {
		s.before(r.Context(), r.URL.Query().Get("continue"))
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// holding returns a cluster of webs that all have the finalizers.
func holding(t *testing.T, count int, finalizers ...string) *cluster {
	c := &cluster{T: t, webs: map[string]*web{}}
	for i := range count {
		c.webs[fmt.Sprintf("web-%03d", i)] = &web{version: 1, finalizers: finalizers}
	}
	return c
}

// with returns how many webs have a finalizer.
func (c *cluster) with(finalizer string) (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, web := range c.webs {
		if slices.Contains(web.finalizers, finalizer) {
			count++
		}
	}
	return count
}

// running returns a Drainer of the cluster that runs until stop is called. before is called before
// each page.
func running(t *testing.T, c *cluster, before func(ctx context.Context, page string)) (d *Drainer, stop func()) {
	d = drainerAt(t, &rest.Config{Host: "http://host.example", Transport: slowly{c, before}, QPS: -1})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { d.Run(ctx) })
	stop = func() { cancel(); run.Wait() }
	t.Cleanup(stop)
	return d, stop
}

// told is how a removal was when it was last told.
type told struct {
	done bool
	err  error
}

// wait waits until there is a result of a removal, and returns it.
func wait(t *testing.T, d *Drainer, finalizer string) told {
	t.Helper()
	var once sync.Once
	tell := make(chan struct{})
	done, err := d.Drain(finalizer, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, func() { once.Do(func() { close(tell) }) })
	if done || err != nil {
		t.Fatalf("at first the result is %v, %v", done, err)
	}
	select {
	case <-tell:
	case <-t.Context().Done():
		t.Fatal("there is never a result")
	}
	done, err = d.Drain(finalizer, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, func() {})
	return told{done, err}
}

// begin begins a removal.
func begin(t *testing.T, d *Drainer, finalizer string, resource v1alpha1.ResourceRule, notify func()) {
	t.Helper()
	if done, err := d.Drain(finalizer, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{resource}, notify); done || err != nil {
		t.Errorf("at first the result is %v, %v", done, err)
	}
}

func TestATypeWithManySlowPagesIsDrainedInOnePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 99, ours)
		d, _ := running(t, c, func(ctx context.Context, _ string) { pause(ctx, 20*time.Second) })
		if got := wait(t, d, ours); !got.done || c.with(ours) > 0 {
			t.Errorf("the result is %+v, %d keep it", got, c.with(ours))
		}
		once := slices.Compact(slices.Clone(c.asked))
		if len(c.asked) != 50 || len(once) != 50 || !slices.IsSorted(c.asked) {
			t.Errorf("asked for pages %q, want each once, in their order", c.asked)
		}
	})
}

func TestAPageThatFailsIsAskedForAgainAndThoseBeforeItAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 6, ours)
		hangs := true
		d, _ := running(t, c, func(ctx context.Context, page string) {
			if page == "web-002" && hangs {
				hangs = false
				<-ctx.Done()
			}
		})
		got := wait(t, d, ours)
		if want := "remove the finalizer from webs of ctl.example/v2: list Web.ctl.example/v2: no answer within 1m0s"; got.done || fmt.Sprint(got.err) != want {
			t.Errorf("the result is %v, %v, want %s", got.done, got.err, want)
		}
		<-time.After(time.Minute)
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, nil); !done || c.with(ours) > 0 {
			t.Errorf("later the result is %v, %v, %d keep it", done, err, c.with(ours))
		}
		if want := []string{"", "web-002", "web-004"}; !slices.Equal(c.asked, want) {
			t.Errorf("the host has answered with pages %q, want %q", c.asked, want)
		}
	})
}

func TestAnObjectThatKeepsTheFinalizerLosesItLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 5, ours)
		c.refuse = "web-001"
		d, _ := running(t, c, func(context.Context, string) {})
		got := wait(t, d, ours)
		if got.done || !strings.Contains(fmt.Sprint(got.err), "objects that keep the finalizer "+ours+": 1; the first: can't update") {
			t.Errorf("the result is %+v", got)
		}
		if c.with(ours) != 1 {
			t.Errorf("%d keep it", c.with(ours))
		}
		<-time.After(time.Hour)
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, nil); done || err == nil {
			t.Errorf("an hour later the result is %v, %v", done, err)
		}
		if tries := len(c.asked) / 3; tries > 130 {
			t.Errorf("there were %d passes in an hour", tries)
		}
		c.mu.Lock()
		c.refuse = ""
		c.mu.Unlock()
		<-time.After(maxBackoff + time.Second)
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, nil); !done || err != nil {
			t.Errorf("at the end the result is %v, %v", done, err)
		}
	})
}

// The finalizer of one controller is on many objects, and the host is slow for some others.
func TestASmallRemovalDoesNotWaitForLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 1000)
		c.webs["web-000"].finalizers = []string{ours}
		d, _ := running(t, c, func(ctx context.Context, page string) {
			if page == "" {
				pause(ctx, time.Second)
			} else {
				pause(ctx, 50*time.Second)
			}
		})
		for i := range 2 * workers {
			begin(t, d, fmt.Sprint("metacontroller.io/large-", i), ourWebs, func() {})
		}
		<-time.After(time.Minute)
		begin(t, d, ours, ourWebs, func() {})
		<-time.After(4 * time.Minute)
		if c.with(ours) > 0 {
			t.Error("it has had no turn after five minutes; all pages of one of the others take hours")
		}
	})
}

// A controller starts and puts its finalizer on parents.
func TestNothingIsRemovedAfterARemovalIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 50, ours)
		d, _ := running(t, c, func(ctx context.Context, _ string) { pause(ctx, time.Second) })
		begin(t, d, ours, ourWebs, func() { t.Error("a result is told") })
		<-time.After(10*time.Second + 500*time.Millisecond)
		d.Forget(ours)
		kept := c.with(ours)
		if kept == 0 || kept == 50 {
			t.Fatalf("%d keep it when it is forgotten, want some", kept)
		}
		<-time.After(time.Hour)
		if left := c.with(ours); left != kept {
			t.Errorf("%d keep it an hour later, want %d as before", left, kept)
		}
	})
}

func TestARemovalOfOtherResourcesReplacesTheFormer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 50, ours)
		d, _ := running(t, c, func(ctx context.Context, _ string) { pause(ctx, time.Second) })
		begin(t, d, ours, ourWebs, func() { t.Error("a result of the former is told") })
		gone := v1alpha1.ResourceRule{APIVersion: "ctl.example/v2", Resource: "shops"}
		begin(t, d, ours, gone, func() {})
		<-time.After(time.Hour)
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{gone}, nil); !done || err != nil {
			t.Errorf("the result is %v, %v", done, err)
		}
		if c.with(ours) < 48 {
			t.Errorf("%d keep it, want those after the page that was under way", c.with(ours))
		}
	})
}

// The process ends; that says nothing about the host.
func TestARemovalThatTheProcessEndsHasNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding(t, 50, ours)
		d, stop := running(t, c, func(ctx context.Context, _ string) { pause(ctx, time.Second) })
		begin(t, d, ours, ourWebs, func() { t.Error("a result is told") })
		<-time.After(10*time.Second + 500*time.Millisecond)
		stop()
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, nil); done || err != nil {
			t.Errorf("the result is %v, %v", done, err)
		}
	})
}

// The host may take long for each write. One turn must not take a whole page.
func TestATurnWritesABoundedNumberOfObjects(t *testing.T) {
	const count = 2*objectsPerTurn + 1
	c := holding(t, count, ours)
	d := drainer(t, c)
	of, _, err := d.resolve(t.Context(), ourWebs)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{rule: ourWebs, of: of, pages: d.client.Pages(of, ours)}
	for !p.pages.Done() {
		page, err := p.pages.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.left = append(p.left, page...)
	}
	for _, want := range []int{count - objectsPerTurn, count - 2*objectsPerTurn, 0} {
		p.visit(t.Context(), &removal{drainer: d, finalizer: ours})
		if got := c.with(ours); got != want || p.passed != (want == 0) {
			t.Errorf("%d keep it, want %d; it is passed: %v", got, want, p.passed)
		}
	}
}

// Two removals of one finalizer would write the same objects.
func TestARemovalWaitsForTheOneThatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drainerAt(t, &rest.Config{Host: "http://host.example"})
		next := newRemoval(d, ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, func() {})
		next.former = newRemoval(d, ours, pipeline.ControllerDeleted, Remover{}, []v1alpha1.ResourceRule{ourWebs}, func() {})
		former := next.former
		former.turns <- struct{}{} // its turn is under way
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			next.stop()
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Error("it does not wait")
		default:
		}
		<-former.turns
		<-stopped
	})
}

func TestAnotherAccountBeginsTheRemovalAnew(t *testing.T) {
	c := holding(t, 1, ours)
	d, _ := running(t, c, func(context.Context, string) {})
	remove := func(account string) (done bool, err error) {
		told := make(chan struct{}, 100)
		as := host.Account{Namespace: "shop", Name: account}
		if done, err := d.Drain(ours, pipeline.ControllerDeleted, Remover{Account: as}, []v1alpha1.ResourceRule{ourWebs}, func() { told <- struct{}{} }); done || err != nil {
			t.Fatalf("at first the result is %v, %v", done, err)
		}
		<-told
		return d.Drain(ours, pipeline.ControllerDeleted, Remover{Account: as}, []v1alpha1.ResourceRule{ourWebs}, nil)
	}
	if done, err := remove("former"); !done || err != nil {
		t.Fatalf("the result is %v, %v", done, err)
	}
	c.webs["web-000"].finalizers = []string{ours}
	if done, err := remove("present"); !done || err != nil || c.with(ours) > 0 {
		t.Fatalf("the result is %v, %v", done, err)
	}
	const prefix = "system:serviceaccount:shop:"
	if got := slices.Compact(c.updatedAs); !slices.Equal(got, []string{prefix + "former", prefix + "present"}) {
		t.Errorf("finalizers were removed as %q", got)
	}
}
