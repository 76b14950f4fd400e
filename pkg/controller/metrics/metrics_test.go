// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // measures all other queues
)

// worked is a queue on which something was added twice, and worked on once.
func worked(t *testing.T, name string, provider workqueue.MetricsProvider) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: provider})
	defer queue.ShutDown()
	queue.Add("a")
	queue.Add("b")
	item, _ := queue.Get()
	queue.AddRateLimited(item)
	queue.Done(item)
}

func TestQueueIsMeasuredUnderItsName(t *testing.T) {
	queue := NewQueue("CompositeController-webs")
	worked(t, "CompositeController-webs", queue)
	registry := prometheus.NewRegistry()
	registry.MustRegister(queue)
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP workqueue_adds_total [BETA] Total number of adds handled by workqueue
# TYPE workqueue_adds_total counter
workqueue_adds_total{controller="CompositeController-webs",name="CompositeController-webs"} 2
# HELP workqueue_depth [BETA] Current depth of workqueue
# TYPE workqueue_depth gauge
workqueue_depth{controller="CompositeController-webs",name="CompositeController-webs"} 1
# HELP workqueue_retries_total [BETA] Total number of retries handled by workqueue
# TYPE workqueue_retries_total counter
workqueue_retries_total{controller="CompositeController-webs",name="CompositeController-webs"} 1
`), "workqueue_adds_total", "workqueue_depth", "workqueue_retries_total")
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{
		"workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
		"workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds",
	} {
		if count, err := testutil.GatherAndCount(registry, name); err != nil || count != 1 {
			t.Errorf("%s has %d series, want one: %v", name, count, err)
		}
	}
}

// Libraries have queues too, and the families are the same: this fails when a library changes the
// text of its help.
func TestQueuesOfLibrariesAreInTheSameFamilies(t *testing.T) {
	worked(t, "of-a-library", nil)
	queue := NewQueue("ours")
	worked(t, "ours", queue)
	registry := prometheus.NewRegistry()
	registry.MustRegister(queue)
	families, err := prometheus.Gatherers{legacyregistry.DefaultGatherer, registry}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "workqueue_") {
			found++
			if len(family.GetMetric()) != 2 {
				t.Errorf("%s has the series %v, want one of each queue", family.GetName(), family.GetMetric())
			}
		}
	}
	if found != 7 {
		t.Errorf("there are %d families about queues, want 7", found)
	}
}

func TestReconciliationsAreCountedByResult(t *testing.T) {
	reconciles := NewReconciles("composite-metacontroller", 4)
	for range 3 {
		if !reconciles.Measure(func() (bool, error) { return true, nil }) {
			t.Error("it is to be done, and Measure says otherwise")
		}
	}
	if reconciles.Measure(func() (bool, error) { return false, errors.New("the cluster is away") }) {
		t.Error("it is to be tried again, and Measure says otherwise")
	}
	reconciles.Measure(func() (bool, error) {
		if active := testutil.ToFloat64(reconciles.active); active != 1 {
			t.Errorf("there are %v active workers, want one", active)
		}
		return true, errors.New("no hooks defined")
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(reconciles)
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP controller_runtime_active_workers Number of currently used workers per controller
# TYPE controller_runtime_active_workers gauge
controller_runtime_active_workers{controller="composite-metacontroller"} 0
# HELP controller_runtime_max_concurrent_reconciles Maximum number of concurrent reconciles per controller
# TYPE controller_runtime_max_concurrent_reconciles gauge
controller_runtime_max_concurrent_reconciles{controller="composite-metacontroller"} 4
# HELP controller_runtime_reconcile_errors_total Total number of reconciliation errors per controller
# TYPE controller_runtime_reconcile_errors_total counter
controller_runtime_reconcile_errors_total{controller="composite-metacontroller"} 2
# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="composite-metacontroller",result="error"} 2
controller_runtime_reconcile_total{controller="composite-metacontroller",result="success"} 3
# HELP controller_runtime_terminal_reconcile_errors_total Total number of terminal reconciliation errors per controller
# TYPE controller_runtime_terminal_reconcile_errors_total counter
controller_runtime_terminal_reconcile_errors_total{controller="composite-metacontroller"} 1
`), "controller_runtime_active_workers", "controller_runtime_max_concurrent_reconciles", "controller_runtime_reconcile_errors_total",
		"controller_runtime_reconcile_total", "controller_runtime_terminal_reconcile_errors_total")
	if err != nil {
		t.Error(err)
	}
	if count := testutil.CollectAndCount(reconciles, "controller_runtime_reconcile_time_seconds"); count != 1 {
		t.Errorf("controller_runtime_reconcile_time_seconds has %d series, want one", count)
	}
}
