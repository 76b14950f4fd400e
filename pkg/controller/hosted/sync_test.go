// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// A bug that panics harms one parent, and is reported like any other failure.
func TestASyncThatPanicsFails(t *testing.T) {
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := controllerAt(t, config, Dependencies{Events: events}, specOf(at("http://hooks.example")))
	c.parentChanged(nil, c.planner.Observer.Get(web("a")), false)
	c.planner.ObjectJSON.Store(nil) // the bug

	if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.Backoff(0) {
		t.Errorf("the result is %v, want a failure", result)
	}
	event := <-sent
	if event.Reason != "SyncError" || event.InvolvedObject.Name != "a" || !strings.Contains(event.Message, "panic: ") {
		t.Errorf("the event is %s about %s: %s", event.Reason, event.InvolvedObject.Name, event.Message)
	}
	if health := c.Health(); health.Total != 1 || health.Failing != 1 || !strings.Contains(health.LastError.Message, "panic: ") {
		t.Errorf("the health is %+v", health)
	}
}

// The backoff of a parent grows to a quarter of an hour. A right that is given must take effect long
// before that, and nothing tells of it.
func TestAParentThatLacksARightIsTriedAgainSoon(t *testing.T) {
	missing := &act.MissingRightError{Err: errors.New("pods is forbidden")}
	for name, test := range map[string]struct {
		err  error
		want syncqueue.Result
	}{
		"a right is missing":              {missing, syncqueue.Backoff(0).Within(45 * time.Second)},
		"a right is missing among others": {planner.JoinErrors([]error{io.EOF, fmt.Errorf("can't create: %w", missing)}), syncqueue.Backoff(0).Within(45 * time.Second)},
		"something else fails":            {io.EOF, syncqueue.Backoff(0)},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := hostOf(t)
			c := controllerAt(t, config, Dependencies{}, specOf(at("http://hooks.example")))
			key := web("gone") // no event is written about a parent that is not there
			if got := c.conclude(t.Context(), key, c.parents.get(key), &syncFacts{err: test.err}, time.Now()); got != test.want {
				t.Errorf("the result is %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSyncsAreLoggedInTheDeveloperMode(t *testing.T) {
	for name, developer := range map[string]bool{"with it": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			config, _ := hostOf(t)
			wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}`)
			}))
			defer wanting.Close()
			c := controllerAt(t, config, Dependencies{
				DeveloperMode: developer, Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20},
			}, specOf(at(wanting.URL), pods))
			var lines []string
			logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
			c.sync(klog.NewContext(t.Context(), logger), web("a"), syncqueue.ParentChanged)
			var want []string
			if developer {
				want = []string{`"level"=0 "msg"="Web default/a: did not create, because its name was taken a moment ago, Pod b; left alone, because it has changed meanwhile, status"`}
			}
			if !slices.Equal(lines, want) {
				t.Errorf("the log says %q, want %q", lines, want)
			}
		})
	}
}
