// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// gate blocks the calls of a hook, round by round.
type gate struct{ now atomic.Pointer[round] }

type round struct {
	over    chan struct{}
	waiting atomic.Int32
}

// next releases the blocked calls. Later calls are blocked in the next round.
func (g *gate) next() {
	if before := g.now.Swap(&round{over: make(chan struct{})}); before != nil {
		close(before.over)
	}
}

// waiting returns how many calls are blocked in this round.
func (g *gate) waiting() int32 { return g.now.Load().waiting.Load() }

// pass waits for the end of this round, or of ctx.
func (g *gate) pass(ctx context.Context) {
	now := g.now.Load()
	now.waiting.Add(1)
	defer now.waiting.Add(-1)
	select {
	case <-now.over:
	case <-ctx.Done():
	}
}

// While another controller carries out an edit, no call of the slow hook is answered, so that all
// workers of its controller are blocked. The calls are answered between the edits.
func TestASlowHookDelaysNoOtherController(t *testing.T) {
	const workers, parents, edits = 5, 40, 20
	var slow gate
	slow.next()
	answer := hook.Answering(t, oneConfigMap)
	other := prepare(t, func(ctx context.Context, call hook.Call) hook.Answer {
		slow.pass(ctx)
		return answer(ctx, call)
	})
	for i := range parents {
		other.CreateParent(fmt.Sprintf("p%d", i), object{"value": "1"})
	}
	other.start(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ResyncPeriodSeconds = ptr.To(int32(1))
		spec.Hooks.Sync.Webhook.Timeout = ptr.To(v1alpha1.Duration("1h"))
	})
	quick := prepare(t, answer)
	quick.CreateParent("p", object{"value": "0"})
	quick.start()
	quick.timeUntilValue("p", "0")

	var took []time.Duration
	for i := range edits {
		env.Eventually(t, func(context.Context) error {
			if now := slow.waiting(); now < workers {
				return fmt.Errorf("%d calls of the slow hook wait, there should be one of each of %d workers", now, workers)
			}
			return nil
		})
		value := fmt.Sprint(i + 1)
		quick.set("p", value)
		took = append(took, quick.timeUntilValue("p", value))
		if now := slow.waiting(); now != workers {
			t.Errorf("%d calls of the slow hook wait after the edit, want %d", now, workers)
		}
		slow.next()
	}
	slices.Sort(took)
	t.Logf("beside a hook that does not answer, an edit takes %s at the median and %s at worst", took[edits/2], took[edits-1])
	if took[edits/2] >= time.Second {
		t.Error("an edit is slow beside another controller's hook")
	}
}
