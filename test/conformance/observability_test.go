// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// The metrics of a controller have the names and labels that dashboards use. They are removed with
// the controller.
func TestMetricsOfAControllerLastAsLongAsIt(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object { return object{"status": object{"ok": true}} })
	s.Create(things + "\n---\n" + aThing)
	s.Exists(theThing, scenario.Has("status.ok", true))
	queue := "CompositeController-" + s.Unique
	series := map[string][]string{
		"metacontroller_sync_requests_total":                     {"controller_name", s.Unique, "controller_type", "CompositeController", "url", s.Hook.URL("/sync"), "code", "200", "method", "post"},
		"metacontroller_sync_request_duration_histogram_seconds": {"controller_name", s.Unique, "controller_type", "CompositeController", "method", "post"},
		"metacontroller_sync_in_flight_requests":                 {"controller_name", s.Unique, "controller_type", "CompositeController"},
	}
	for _, family := range []string{"depth", "adds_total", "queue_duration_seconds", "work_duration_seconds", "retries_total",
		"unfinished_work_seconds", "longest_running_processor_seconds"} {
		series["workqueue_"+family] = []string{"name", queue, "controller", queue}
	}
	expect := func(count int) {
		t.Helper()
		env.Eventually(t, func(ctx context.Context) error {
			metrics, err := env.Metrics(ctx)
			if err != nil {
				return err
			}
			for family, labels := range series {
				if found := harness.Series(metrics[family], labels...); len(found) != count {
					return fmt.Errorf("%s with %v has %d series, want %d; there are %v", family, labels, len(found), count, metrics[family])
				}
			}
			return nil
		})
	}
	expect(1)
	s.Patch(theController, `{spec: {resyncPeriodSeconds: 3600}}`) // a restart
	s.Event(theController, "Stopped", "Stopped controller: $NAME")
	s.Patch(theThing, `{spec: {changed: true}}`)
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(2)))
	expect(1)
	s.Delete(theController)
	expect(0)
}

func TestMetricsTellHowControllersAreBroughtUp(t *testing.T) {
	t.Parallel()
	s := withThings(t, nil)
	s.Say("$CHILD", "apiVersion: v1, resource: nonsense")
	s.Create(things)
	s.Event(theController, "CreateError", "Cannot create new controller: ")
	env.Eventually(t, func(ctx context.Context) error {
		metrics, err := env.Metrics(ctx)
		if err != nil {
			return err
		}
		for _, family := range []string{
			"controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds",
			"controller_runtime_max_concurrent_reconciles", "controller_runtime_active_workers", "workqueue_adds_total",
		} {
			if len(harness.Series(metrics[family], "controller", "composite-metacontroller")) == 0 {
				return fmt.Errorf("there is no %s of composite-metacontroller", family)
			}
		}
		if failed := harness.Series(metrics["controller_runtime_reconcile_errors_total"], "controller", "composite-metacontroller"); failed[0].GetCounter().GetValue() < 1 {
			return fmt.Errorf("the error is not counted: %v", failed)
		}
		return nil
	})
}

// Events have the texts that people and tools search for.
func TestEventsOfTheLifeOfAController(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object { return object{} })
	s.Create(things)
	s.Event(theController, "Started", "Started controller: $NAME")
	s.Delete(theController)
	s.Event(theController, "Stopped", "Stopped controller: $NAME")
	events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=CompositeController,involvedObject.name=" + s.Unique,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 4 {
		t.Errorf("there are %d events, want 4: %v", len(events.Items), events.Items)
	}
	for _, event := range events.Items {
		if want := event.Reason + " controller: " + s.Unique; event.Message != want || event.Type != "Normal" || event.Source.Component != "metacontroller" {
			t.Errorf("event %s of type %s by %s says %q, want %q", event.Reason, event.Type, event.Source.Component, event.Message, want)
		}
	}
}
