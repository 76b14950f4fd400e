// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// hookCalls returns the number of calls of the sync hook in the metrics, and whether there are any
// series about it.
func (f *fixture) hookCalls(ctx context.Context, url string) (calls float64, there bool, err error) {
	families, err := env.Metrics(ctx)
	if err != nil {
		return 0, false, err
	}
	series := harness.Series(families["metacontroller_sync_requests_total"],
		"controller_name", f.Controller.Name, "controller_type", "CompositeController", "url", url, "code", "200", "method", "post")
	for _, one := range series {
		calls += one.GetCounter().GetValue()
	}
	inFlight := harness.Series(families["metacontroller_sync_in_flight_requests"], "controller_name", f.Controller.Name, "url", url)
	return calls, len(series)+len(inFlight) > 0, nil
}

// waitUntilCounted waits until the metrics count all calls of the hook, at least one.
func (f *fixture) waitUntilCounted(path string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		made := 0
		for _, call := range f.Hook.Calls() {
			if call.Path == path {
				made++
			}
		}
		if calls, _, err := f.hookCalls(ctx, f.Hook.URL(path)); err != nil || int(calls) != made || made == 0 {
			return fmt.Errorf("%v calls were counted, and %d were made: %v", calls, made, err)
		}
		return nil
	})
}

func (f *fixture) waitForNoMetrics(url string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		if _, there, err := f.hookCalls(ctx, url); err != nil || there {
			return fmt.Errorf("there should be no metrics of %s: %v", url, err)
		}
		return nil
	})
}

// Metacontroller does not remove the metrics of hooks.
func TestQ46MetricsOfHooksLiveAsLongAsTheirController(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.Settle("a") // a call that the other spec cuts off would not be counted
	f.waitUntilCounted("/sync")

	// The counters continue with another spec of the same hook. Another hook has new counters.
	f.PatchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	f.WaitForReady(metav1.ConditionTrue, "Running")
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.waitUntilCounted("/sync")
	f.PatchController(object{"spec": object{"hooks": object{"sync": object{"webhook": object{"url": f.Hook.URL("/other")}}}}})
	f.waitForNoMetrics(f.Hook.URL("/sync"))
	f.waitUntilCounted("/other")

	// Evaluations of an inline hook count like calls.
	inline := object{"children": []any{}}
	f.PatchController(object{"spec": object{"hooks": object{"sync": object{"webhook": nil, "inline": inline}}}})
	f.waitForNoMetrics(f.Hook.URL("/other"))
	env.Eventually(f, func(ctx context.Context) error {
		if calls, _, err := f.hookCalls(ctx, "inline"); err != nil || calls == 0 {
			return fmt.Errorf("%v evaluations were counted: %v", calls, err)
		}
		return nil
	})

	err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Delete(t.Context(), f.Controller.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	f.waitForNoMetrics("inline")
}
