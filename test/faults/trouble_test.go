// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// visibleWithin is how long a fault may last before it can be seen.
const visibleWithin = time.Minute

// troubles are faults that last until somebody sees them: in an event about the parent, or in the
// condition Ready of the controller. Nothing may wait without a way to see for what.
func troubles(s *scenario) []pattern {
	children := watched(s)["children"]
	isRead := func(request proxy.Request) bool { return request.Verb == "list" || request.Verb == "watch" }
	denied := proxy.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "the user cannot do this", 0)
	all := []pattern{
		trouble("children refused", func(request proxy.Request, _ <-chan struct{}) proxy.Action {
			if request.Write > 0 && request.Is(children...) {
				return denied
			}
			return nil
		}),
		trouble("children not listed", func(request proxy.Request, _ <-chan struct{}) proxy.Action {
			if isRead(request) && request.Is(children...) {
				return denied
			}
			return nil
		}),
		trouble("list of children hangs", func(request proxy.Request, healed <-chan struct{}) proxy.Action {
			if isRead(request) && request.Is(children...) {
				return proxy.Hold(healed, proxy.Pass())
			}
			return nil
		}),
	}
	if s.rolls {
		gone := proxy.Fail(http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "revisions" not found`, 0)
		all = append(all, trouble("no namespace for revisions", func(request proxy.Request, _ <-chan struct{}) proxy.Action {
			if request.Verb == "create" && request.Is("controllerrevisions") {
				return gone
			}
			return nil
		}))
	}
	return all
}

// trouble is a fault that lasts through the first step, until it is seen.
func trouble(name string, fault func(request proxy.Request, healed <-chan struct{}) proxy.Action) pattern {
	healed := make(chan struct{})
	heal := sync.OnceFunc(func() { close(healed) })
	return pattern{
		name:    "trouble/" + name,
		prepare: func(r *run) { r.Cleanup(heal) },
		do: func(*run, int) func(proxy.Request) proxy.Action {
			return func(request proxy.Request) proxy.Action {
				select {
				case <-healed:
					return nil
				default:
					return fault(request, healed)
				}
			}
		},
		after: func(r *run, i int) {
			if i == 0 {
				r.awaitTrouble()
				heal()
			}
		},
	}
}

// awaitTrouble waits until an event about the parent or the status of the controller tells that
// something is wrong.
func (r *run) awaitTrouble() {
	r.Helper()
	var seen string
	err := poll.Within(r.Context(), visibleWithin, func(ctx context.Context) error {
		events, err := env.Kube.CoreV1().Events(r.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=p"})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Type == corev1.EventTypeWarning {
				seen = event.Reason + ": " + event.Message
				return nil
			}
		}
		conditions, err := r.conditions(ctx)
		if err != nil {
			return err
		}
		for _, condition := range conditions {
			if condition.Type == v1alpha1.ConditionReady && condition.Status != metav1.ConditionTrue {
				seen = condition.Reason + ": " + condition.Message
				return nil
			}
		}
		return fmt.Errorf("neither an event about the parent nor the condition Ready tells that something is wrong; the conditions are %v", conditions)
	})
	if err != nil {
		r.Fatalf("step %s: %v", r.step(), err)
	}
	r.note("the trouble is visible: " + seen)
}

// conditions are those of the controller of the run.
func (r *run) conditions(ctx context.Context) ([]metav1.Condition, error) {
	if r.Controller.Resource == "decoratorcontrollers" {
		found, err := env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers().Get(ctx, r.id, metav1.GetOptions{})
		return found.Status.Conditions, err
	}
	found, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, r.id, metav1.GetOptions{})
	return found.Status.Conditions, err
}
