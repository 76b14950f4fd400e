// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
)

func TestAccountsTakeTurns(t *testing.T) {
	q := newFairQueue(func(name string) host.Account {
		account, _, _ := strings.Cut(name, "/")
		return host.Account{Name: account}
	})
	for _, name := range strings.Fields("a/1 a/2 a/3 a/4 b/1 c/1 b/2") {
		q.Push(name)
	}
	var order []string
	for range 3 {
		order = append(order, q.Pop())
	}
	q.Push("d/1")
	for q.Len() > 0 {
		order = append(order, q.Pop())
	}
	if got, want := strings.Join(order, " "), "a/1 b/1 c/1 a/2 b/2 d/1 a/3 a/4"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	if len(q.waiting) > 0 || len(q.turns) > 0 {
		t.Errorf("it is empty, and has %v and %v", q.waiting, q.turns)
	}
}

// When a related type appears, the right to it is required.
func TestAControllerUsesItsRelatedTypes(t *testing.T) {
	object := controllerOf("webs", "v1 pods")
	object.Spec.RelatedResources = rules("late.example/v1 things")
	for group, want := range map[string]bool{"ctl.example": true, "": true, "late.example": true, "apps": false} {
		if got := uses(object, group); got != want {
			t.Errorf("it uses types of the group %q: %t", group, got)
		}
	}
}

// The cluster does not answer about the account of one team. The controllers of another start meanwhile.
func TestNoWorkerWaitsForTheRightsOfAnAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	answer := make(chan struct{})
	f.reviews.set(func(r *reviews) { r.slow, r.answer = "system:serviceaccount:shop:slow", answer })
	defer close(answer)
	const many = 10 * workers
	for i := range many {
		slow := actingAs(controllerOf(fmt.Sprint("slow-", i), "v1 pods"))
		slow.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "slow"}
		f.create(t, slow)
	}
	waitUntil(t, func() string { return "the host is not asked" }, func() bool {
		return f.reviews.waits.Load() > 0 && len(f.states.all()) >= workers
	})
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "True Running")
	if f.reviews.gaveUp.Load() > 0 {
		t.Error("it starts when the questions about the account have been given up")
	}
	if asked := f.reviews.waits.Load(); asked > 4 {
		t.Errorf("the host is asked %d times at once about one account", asked)
	}
	for i := range many {
		if name := fmt.Sprint("slow-", i); f.runs(name) {
			t.Errorf("%s runs, and nothing is known of its rights", name)
		}
	}
}
