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

// slowness is how long the slow hook takes for an answer.
const slowness = 2 * time.Second

func TestASlowHookDelaysNoOtherController(t *testing.T) {
	const workers, parents, edits = 5, 40, 20
	var busy atomic.Int32
	answer := hook.Answering(t, oneConfigMap)
	slow := prepare(t, func(ctx context.Context, call hook.Call) hook.Answer {
		busy.Add(1)
		defer busy.Add(-1)
		select {
		case <-time.After(slowness):
		case <-ctx.Done():
		}
		return answer(ctx, call)
	})
	for i := range parents {
		slow.parent(fmt.Sprintf("p%d", i), "1")
	}
	slow.start(func(spec *v1alpha1.CompositeControllerSpec) { spec.ResyncPeriodSeconds = ptr.To(int32(1)) })
	quick := prepare(t, answer)
	quick.parent("p", "0")
	quick.start()
	quick.reaches("p", "0")

	var took []time.Duration
	for i := range edits {
		env.Eventually(t, func(context.Context) error {
			if now := busy.Load(); now < workers {
				return fmt.Errorf("the slow hook answers %d calls, there should be one of each of %d workers", now, workers)
			}
			return nil
		})
		value := fmt.Sprint(i + 1)
		quick.set("p", value)
		took = append(took, quick.reaches("p", value))
	}
	slices.Sort(took)
	worst, median := took[edits-1], took[edits/2]
	t.Logf("beside a hook that takes %s, an edit takes %s at the median and %s at worst", slowness, median, worst)
	if worst >= 2*slowness || median >= slowness/2 {
		t.Errorf("an edit waits for the answers of another controller's hook")
	}
}
