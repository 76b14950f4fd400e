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

// hookCalls are the calls of the sync hook that the server has counted, and whether there
// is anything about them.
func (f *fixture) hookCalls(ctx context.Context, url string) (calls float64, there bool, err error) {
	families, err := env.Metrics(ctx)
	if err != nil {
		return 0, false, err
	}
	series := harness.Series(families["metacontroller_sync_requests_total"],
		"controller_name", f.controller.Name, "controller_type", "CompositeController", "url", url, "code", "200", "method", "post")
	for _, one := range series {
		calls += one.GetCounter().GetValue()
	}
	inFlight := harness.Series(families["metacontroller_sync_in_flight_requests"], "controller_name", f.controller.Name, "url", url)
	return calls, len(series)+len(inFlight) > 0, nil
}

// waitForCalls waits until the server has counted all calls of the hook, and at least one.
func (f *fixture) waitForCalls(path string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		made := 0
		for _, call := range f.hook.Calls() {
			if call.Path == path {
				made++
			}
		}
		if calls, _, err := f.hookCalls(ctx, f.hook.URL(path)); err != nil || int(calls) != made || made == 0 {
			return fmt.Errorf("%v calls were counted, and %d were made: %v", calls, made, err)
		}
		return nil
	})
}

func (f *fixture) waitForNoMetrics(path string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		if _, there, err := f.hookCalls(ctx, f.hook.URL(path)); err != nil || there {
			return fmt.Errorf("there should be no metrics of %s: %v", path, err)
		}
		return nil
	})
}

// Upstream went on showing metrics of hooks that were no more.
func TestQ46MetricsOfHooksLiveAsLongAsTheirController(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.parent("a", object{"value": "1"})
	f.waitForConfigMap("a", hasData("value", "1"))
	f.waitUntilQuiet("a") // a call that the other spec cuts off would not be counted
	f.waitForCalls("/sync")

	// Another spec with the same hook goes on counting, another hook begins anew.
	f.patchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	f.waitForReady(metav1.ConditionTrue, "Running")
	f.patchParent("a", `{"spec":{"value":"2"}}`)
	f.waitForConfigMap("a", hasData("value", "2"))
	f.waitForCalls("/sync")
	f.patchController(object{"spec": object{"hooks": object{"sync": object{"webhook": object{"url": f.hook.URL("/other")}}}}})
	f.waitForNoMetrics("/sync")
	f.waitForCalls("/other")

	err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Delete(t.Context(), f.controller.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	f.waitForNoMetrics("/other")
}
