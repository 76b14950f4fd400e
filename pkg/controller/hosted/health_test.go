// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

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
	c.hookCalls.update(hook.Sync, snapshotOf("c"), failed)
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
		c.hookCalls.update(hook.Sync, snapshotOf(name), failed)
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
