// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

func TestAControllerWhoseHookCannotBeCalledIsNotMade(t *testing.T) {
	before := goleak.IgnoreCurrent()
	_, err := New(Dependencies{}, specOf(v1alpha1.Webhook{Path: ptr.To("/sync")}))
	const want = "sync hook: invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	goleak.VerifyNone(t, before)
}

// made is a controller on a host that serves no watch.
func made(t *testing.T) *Controller {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(at("http://hooks.example"), pods)
	spec.Resync = time.Second
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	c, err := New(Dependencies{Watches: cache.NewInformers(ctx, client, 0), Workers: 2, Metrics: prometheus.NewRegistry()}, spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAControllerThatIsClosedLeavesNothingBehind(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) { made(t).Close() })
		goleak.VerifyNone(t, before)
	})
	t.Run("run on a host that never answers its watches", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Run("controller", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan struct{})
			c := made(t)
			go func() {
				defer close(returned)
				c.Run(ctx)
			}()
			cancel()
			<-returned
		})
		goleak.VerifyNone(t, before)
	})
}

func TestAnErrorIsToldAgainOnlyAfterAWhile(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var told told
	for _, step := range []struct {
		what  string
		err   string
		after time.Duration
		want  bool
	}{
		{"the first error", "a", 0, true},
		{"the same at once", "a", time.Second, false},
		{"the same shortly before it is due", "a", tellAgainAfter - time.Second, false},
		{"the same when it is due", "a", tellAgainAfter, true},
		{"the same after that", "a", tellAgainAfter + time.Second, false},
		{"another", "b", tellAgainAfter + 2*time.Second, true},
		{"the first once more", "a", tellAgainAfter + 3*time.Second, true},
		{"the same when the clock was put back", "a", -time.Hour, true},
		{"the same after that", "a", -time.Hour + time.Second, false},
	} {
		if got := told.news(step.err, start.Add(step.after)); got != step.want {
			t.Errorf("%s is news: %v, want %v", step.what, got, step.want)
		}
	}
}

func TestParents(t *testing.T) {
	a, b := web("a"), web("b")
	p := newParents()
	first := p.get(a)
	if p.get(a) != first || p.get(b) == first {
		t.Error("each parent has one memory of its own")
	}
	p.record(a, nil)
	p.record(b, errors.New("no"))
	if !p.synced[a] || p.synced[b] || p.lastError == nil || p.lastError.Parent != b || p.lastError.Message != "no" || p.lastError.Time.IsZero() {
		t.Errorf("synced %v, last error %v", p.synced, p.lastError)
	}
	for _, putOff := range []error{&hook.ThrottledError{}, &related.NotListedError{}, errOvertaken} {
		p.record(a, fmt.Errorf("sync hook failed: %w", putOff))
		if !p.synced[a] || p.lastError.Parent != b {
			t.Errorf("a sync that was put off (%v) is neither a failure nor a success", putOff)
		}
	}
	p.record(a, fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{}))
	if p.synced[a] || p.lastError.Parent != b {
		t.Error("a parent whose hook is down fails, and the call that was not answered tells why")
	}
	p.record(a, nil)
	if !p.lastError.Over.IsZero() {
		t.Error("another parent has recovered")
	}
	p.record(b, nil)
	if !p.synced[b] || p.lastError.Message != "no" || p.lastError.Over.IsZero() {
		t.Errorf("the last error stays when its parent has recovered, and says so: %+v", p.lastError)
	}
	p.record(a, errors.New("once more"))
	if !p.lastError.Over.IsZero() || p.lastError.Parent != a {
		t.Errorf("the last error is %+v", p.lastError)
	}
	p.forget(a)
	if p.lastError.Over.IsZero() {
		t.Error("a parent that is gone does not fail any more")
	}
	if _, known := p.synced[a]; known || p.get(a) == first {
		t.Error("a parent that is gone is still known")
	}
}

func TestHealth(t *testing.T) {
	c := made(t)
	defer c.Close()
	if got := c.Health(); !reflect.DeepEqual(got, report.Health{}) {
		t.Errorf("before the first sync it is %+v", got)
	}
	failed := errors.New("no")
	for name, err := range map[string]error{"a": nil, "b": nil, "c": failed} {
		c.parents.record(web(name), err)
	}
	c.calls.record(hook.Sync, snapshotOf("c"), failed)
	got := c.Health()
	if got.Synced != 2 || got.Failing != 1 || !got.HookCalled || !errors.Is(got.HookErr, failed) || got.LastError == nil || got.LastError.Parent.Name != "c" {
		t.Errorf("it is %+v", got)
	}
}

// Nobody counts thousands of parents every few seconds.
func TestHealthCostsTheSameHoweverManyParentsThereAre(t *testing.T) {
	c := made(t)
	defer c.Close()
	const parents = 2000
	failed := errors.New("no")
	for i := range parents {
		name := fmt.Sprint("p-", i)
		c.parentChanged(nil, snapshotOf(name).Parent)
		c.parents.record(web(name), failed)
		c.calls.record(hook.Sync, snapshotOf(name), failed)
	}
	if got := c.Health(); got.Total != parents || got.Failing != parents || got.HookErr == nil {
		t.Fatalf("it is %+v", got)
	}
	alloctest.Exactly(t, 7, func() { c.Health() })
}

func TestCountsFollowParents(t *testing.T) {
	c := made(t)
	defer c.Close()
	a, again, b := snapshotOf("a").Parent, snapshotOf("a").Parent, snapshotOf("b").Parent
	expect := func(total, synced, failing int) {
		t.Helper()
		if got := c.Health(); got.Total != total || got.Synced != synced || got.Failing != failing {
			t.Errorf("of %d parents %d are synced and %d failing, want %d, %d and %d", got.Total, got.Synced, got.Failing, total, synced, failing)
		}
	}
	c.parentChanged(nil, a)
	c.parentChanged(nil, b)
	c.parentChanged(a, again)
	expect(2, 0, 0)
	for _, err := range []error{nil, errors.New("no"), errors.New("still no")} {
		c.parents.record(web("a"), err)
	}
	c.parents.record(web("b"), nil)
	expect(2, 1, 1)
	c.parents.record(web("a"), nil)
	expect(2, 2, 0)
	c.parents.record(web("b"), errors.New("no"))
	c.parentChanged(b, nil)
	c.parents.forget(web("b"))
	expect(1, 1, 0)
}

// It is looked at four times a second of each controller.
func TestThatThereIsNoTroubleIsSeenWithoutAllocations(t *testing.T) {
	c := made(t)
	defer c.Close()
	if allocations := alloctest.Least(func() { c.Trouble() }); allocations > 0 { // at the least, since its watches allocate, too
		t.Errorf("it takes %d allocations", allocations)
	}
}
