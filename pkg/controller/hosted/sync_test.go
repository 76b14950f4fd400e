// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
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
	c.parentChanged(nil, c.observer.Get(web("a")), false)
	c.objectJSON.Store(nil) // the bug

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
		"a right is missing among others": {joinErrors([]error{io.EOF, fmt.Errorf("can't create: %w", missing)}), syncqueue.Backoff(0).Within(45 * time.Second)},
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
