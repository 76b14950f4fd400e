// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A server that is killed at any point of a rollout and restarted moves the same Pods in the same
// order, one at a time.
func TestKilledInTheMiddleOfARollout(t *testing.T) {
	for _, apply := range []v1alpha1.ChildApplyStrategy{v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide} {
		t.Run(string(apply), func(t *testing.T) { killedInTheMiddle(t, apply) })
	}
}

func killedInTheMiddle(t *testing.T, apply v1alpha1.ChildApplyStrategy) {
	const kills, pods = 10, 5
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	k := startCatSet(t, "", apply, pods)
	k.waitForRollout(t)
	for rollout, killed := 0, 0; killed < kills; rollout++ {
		from := k.now()
		k.use(fmt.Sprintf("nginx:%d", rollout))
		for killed < kills && !k.isOver(from, pods) {
			k.waitForSomePoint(from, pods, random)
			killed++
			t.Logf("rollout %d, kill %d: after %d events of Pods", rollout, killed, k.now()-from)
			env.KillServer(t)
			env.StartServer(t)
		}
		k.waitForRollout(t)
		k.expectOneAtATime(from, pods, 4, 3, 2, 1, 0)
	}
}

// isOver reports whether all Pods were deleted and created again since an instant.
func (k *kubelet) isOver(from, pods int) bool {
	past := k.since(from)
	return len(past) > 0 && past[len(past)-1].ready == pods && len(k.gone(from)) == pods
}

// waitForSomePoint waits for a random point of a rollout of so many Pods that began at an instant:
// some events, and then some milliseconds in which the server calls hooks and writes.
func (k *kubelet) waitForSomePoint(from, pods int, random *rand.Rand) {
	const eventsOfPod = 4 // it is being deleted, is gone, is there again, is ready
	ctx, cancel := context.WithTimeout(k.Context(), 2*time.Second)
	defer cancel()
	now := k.now()
	left := max(from+pods*eventsOfPod-now, 0)
	k.waitForEvents(ctx, now, random.IntN(1+min(left, 2*eventsOfPod)))
	select {
	case <-time.After(time.Duration(random.IntN(30)) * time.Millisecond):
	case <-ctx.Done():
	}
}
