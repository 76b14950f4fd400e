// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// The Lease of pkg/controller/replicas lasts this long.
const leaseDuration = 9 * time.Second

// Half of the parents are edited all the time while another replica takes the controller over, the others never.
const busyParents, quietParents = 100, 100

// A replica that cannot renew its Lease, but still reaches everything else, stops writing before
// another one may run its controller. That one finishes what was begun: no edit is lost, and no hook is called
// about a parent more often than it has to.
func TestALostLeaseUnderLoad(t *testing.T) {
	t.Parallel()
	var cutOff atomic.Bool
	s := &scenario{
		name:   "replicas",
		create: func(r *run) { r.createComposite() },
		answer: func(a asked) object { return object{"children": a.items(), "status": object{}} },
	}
	r := newRun(t, s, controller.DynamicApply, pattern{
		options: func(r *run, life int, options *controller.Options) {
			options.Workers, options.ParallelWritesPerSync = 5, 16
			options.Replicas = controller.Replicas{Enabled: true, Namespace: "metacontroller", Group: r.id, Process: fmt.Sprint("process-", life)}
		},
		do: func(_ *run, life int) func(proxy.Request) proxy.Action {
			return func(request proxy.Request) proxy.Action {
				if life == 0 && cutOff.Load() && request.Is("leases") {
					return proxy.Drop()
				}
				return nil
			}
		},
	})
	r.CreateParentWith(parentName(0), r.label(), object{"replicas": int64(1), "value": "0"})
	r.await(func() error { return r.has("Item", parentName(0)+"-0", "0", "data", "value") }) // the first one runs it
	r.startSecond()
	for i := range busyParents + quietParents - 1 {
		r.CreateParentWith(parentName(i+1), r.label(), object{"replicas": int64(1), "value": "0"})
	}
	r.awaitValues(0, 0)
	before := r.awaitQuietHook()

	lost := time.Now()
	cutOff.Store(true)
	edits := 0
	for time.Since(lost) < leaseDuration+5*time.Second {
		edits++
		r.edit(edits)
	}
	r.awaitValues(edits, 0)
	r.checkHandOver(lost)

	calls := map[string]int{} // by parent
	for _, call := range r.Hook.Calls()[before:] {
		var about hook.CompositeRequest
		if err := call.Decode(&about); err != nil {
			t.Fatal(err)
		}
		calls[about.Parent.GetName()]++
	}
	for i := range busyParents + quietParents {
		name, got, limit := parentName(i), calls[parentName(i)], 1
		if i < busyParents {
			// An edit is one call, and the status that follows it another one.
			limit = 2*edits + 1
		}
		if got == 0 || got > limit {
			t.Errorf("the hook was called %d times about %s since the lease was lost, want 1 to %d", got, name, limit)
		}
	}
}

func parentName(i int) string { return fmt.Sprintf("p%03d", i) }

// startSecond starts a second process beside the first.
func (r *run) startSecond() {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	second, err := r.start(1)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := second.kill(); err != nil {
			r.Error(err)
		}
	})
}

// awaitQuietHook waits until the hook is not called any more, and returns how often it was.
func (r *run) awaitQuietHook() int {
	for {
		before := len(r.Hook.Calls())
		wait(r, 2*quiet)
		if len(r.Hook.Calls()) == before {
			return before
		}
	}
}

// edit gives all busy parents a value.
func (r *run) edit(value int) {
	r.Helper()
	for i := range busyParents {
		r.PatchParent(parentName(i), object{"spec": object{"value": fmt.Sprint(value)}})
	}
}

// awaitValues waits until the children of the busy and the quiet parents have their values.
func (r *run) awaitValues(busy, quiet int) {
	r.Helper()
	err := poll.Within(r.Context(), bound, func(context.Context) error {
		var missing error
		for i := range busyParents + quietParents {
			want := quiet
			if i < busyParents {
				want = busy
			}
			missing = errors.Join(missing, r.has("Item", parentName(i)+"-0", fmt.Sprint(want), "data", "value"))
		}
		return missing
	})
	if err != nil {
		r.Fatal(err)
	}
}

// checkHandOver fails the test if the old replica wrote after its Lease was over, or after the new one had
// begun.
func (r *run) checkHandOver(lost time.Time) {
	r.Helper()
	events, err := env.Host.Audit().Find(r.from, hostcluster.Request{User: harness.ServerUser, Namespace: r.Namespace, Verbs: hostcluster.Writes()})
	if err != nil {
		r.Fatal(err)
	}
	var lastOfOld, firstOfNew *auditv1.Event
	for i := range events {
		switch event := &events[i]; {
		case event.ObjectRef != nil && event.ObjectRef.Resource == "events":
		case event.UserAgent == userAgent(0):
			lastOfOld = event
		case event.UserAgent == userAgent(1) && firstOfNew == nil:
			firstOfNew = event
		}
	}
	if lastOfOld == nil || firstOfNew == nil {
		r.Fatalf("no other replica took the controller over: the last write of the old one is %v, the first of the new one %v", lastOfOld, firstOfNew)
	}
	if at := lastOfOld.StageTimestamp; at.After(lost.Add(leaseDuration)) || at.After(firstOfNew.RequestReceivedTimestamp.Time) {
		r.Errorf("the lease was lost at %s; the last write of the old replica is %s, the first of the new one %s", lost.Format(clock), lineOf(lastOfOld), lineOf(firstOfNew))
	}
	r.note(fmt.Sprintf("lost at %s, last old write %s, first new write %s", lost.Format(clock), lineOf(lastOfOld), lineOf(firstOfNew)))
}
