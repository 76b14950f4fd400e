// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kubelet makes Parts ready, and counts how many are down that were ready before. A Part is down
// while it is gone, and from a change of its spec until the kubelet has seen that.
type kubelet struct {
	run   *run
	todo  chan string
	ended chan struct{}
	done  sync.WaitGroup

	mu    sync.Mutex
	ready map[string]bool // by name, of Parts that were ready once
	// violations are the moments at which too many were down.
	violations []string
}

func startKubelet(r *run) *kubelet {
	k := &kubelet{run: r, todo: make(chan string, 1000), ended: make(chan struct{}), ready: map[string]bool{}}
	k.done.Go(func() {
		for {
			select {
			case name := <-k.todo:
				k.makeReady(name)
			case <-k.ended:
				return
			}
		}
	})
	return k
}

func (k *kubelet) stop() {
	close(k.ended)
	k.done.Wait()
}

// see is called with each state of a Part, nil if it is gone.
func (k *kubelet) see(name string, part *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if part != nil && !isReady(part) {
		k.todo <- name
	}
	if part != nil && isReady(part) {
		k.ready[name] = true
		return
	}
	if wasReady := k.ready[name]; !wasReady {
		return
	}
	k.ready[name] = false
	var down []string
	for name, ready := range k.ready {
		if !ready {
			down = append(down, name)
		}
	}
	slices.Sort(down)
	if len(down) > k.run.scenario.maxUnavailable {
		k.violations = append(k.violations, fmt.Sprintf("%v are down at once", down))
	}
}

func isReady(part *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(part.Object, "status", "observedGeneration")
	return part.GetDeletionTimestamp() == nil && observed == part.GetGeneration()
}

// makeReady writes the status of a Part. If it has changed meanwhile, that is another event.
func (k *kubelet) makeReady(name string) {
	found := k.run.witness.get("Part", name)
	if found == nil || isReady(found) {
		return
	}
	part := found.DeepCopy()
	part.Object["status"] = object{
		"observedGeneration": part.GetGeneration(),
		"conditions":         []any{object{"type": "Ready", "status": "True"}},
	}
	_, _ = env.Dynamic.Resource(sharedTypesOf(k.run).parts).Namespace(k.run.Namespace).UpdateStatus(k.run.Context(), part, metav1.UpdateOptions{})
}
