// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
)

func TestSelection(t *testing.T) {
	parent := &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"app": "web"}},
	}
	for name, test := range map[string]struct {
		selection Selection
		want      bool
	}{
		"all":                            {Selection{}, true},
		"the one by its name":            {Selection{Namespace: "ns", Name: "a", IsExact: true}, true},
		"one of another name":            {Selection{Namespace: "ns", Name: "b", IsExact: true}, false},
		"one of its name in a namespace": {Selection{Namespace: "other", Name: "a", IsExact: true}, false},
		"one of its name in none":        {Selection{Name: "a", IsExact: true}, false},
		"those of its kind":              {Selection{APIVersion: "ctl.example/v1", Kind: "Web"}, true},
		"those of another kind":          {Selection{Kind: "Shop"}, false},
		"those of another version":       {Selection{APIVersion: "ctl.example/v2"}, false},
		"those in its namespace":         {Selection{Namespace: "ns"}, true},
		"those in another":               {Selection{Namespace: "other"}, false},
		"those with its label":           {Selection{Labels: labels.SelectorFromSet(labels.Set{"app": "web"})}, true},
		"those with another":             {Selection{Labels: labels.SelectorFromSet(labels.Set{"app": "db"})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.selection.selects(parent); got != test.want {
				t.Errorf("it is selected: %v", got)
			}
		})
	}
}

// enqueued has the parents in the order in which they were enqueued, with their causes and times.
type enqueued struct {
	mu      sync.Mutex
	parents []string
	at      []time.Duration
	began   time.Time
}

func (e *enqueued) add(cause syncqueue.Cause, parents ...object.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, parent := range parents {
		e.parents, e.at = append(e.parents, parent.Name+" "+cause.String()), append(e.at, time.Since(e.began))
	}
}

func TestRequestsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, into := newResyncRequests(), &enqueued{began: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { requests.run(ctx, into.add) })
		var many []object.Key
		for i := range 250 {
			many = append(many, web(fmt.Sprint(i)))
		}
		requests.add(syncqueue.Resync, many)
		requests.add(syncqueue.Asked, []object.Key{web("249"), web("last")})
		<-time.After(time.Minute)
		if len(into.parents) != 251 || !slices.Contains(into.parents, "249 requested") || into.parents[250] != "last requested" {
			t.Errorf("enqueued are %d, the last ones %q", len(into.parents), into.parents[max(0, len(into.parents)-3):])
		}
		if into.at[0] != 0 || into.at[99] >= time.Second || into.at[100] < time.Second || into.at[250] < 2*time.Second {
			t.Errorf("the 1st is at %s, the 100th at %s, the 101st at %s, the last at %s", into.at[0], into.at[99], into.at[100], into.at[250])
		}
		requests.add(syncqueue.Asked, []object.Key{web("later")})
		<-time.After(resyncInterval)
		synctest.Wait()
		if last := into.parents[len(into.parents)-1]; last != "later requested" {
			t.Errorf("the last is %s", last)
		}
		cancel()
		running.Wait()
	})
}
