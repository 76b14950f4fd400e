// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the Prometheus metrics of work queues (Queue) and of the reconcilers of
// controller objects (Reconciles), under the names that users of Metacontroller know from
// controller-runtime. It only counts; the owners register what they want shown.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Queue has the metrics of one work queue. It is the queue's workqueue.MetricsProvider and a
// prometheus.Collector. The owner of the queue registers it while the queue is in use so that no
// metrics of queues that are gone are shown.
type Queue struct {
	collectors
	depth, unfinished, longest prometheus.Gauge
	adds, retries              prometheus.Counter
	waited, worked             prometheus.Histogram
}

// NewQueue returns the metrics of the queue of that name.
//
// The queues of libraries in the process have metrics of the same names. Prometheus requires one
// help text for each name, so the texts here are those of the libraries.
func NewQueue(name string) *Queue {
	labels := prometheus.Labels{"name": name, "controller": name}
	gauge := func(metric, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{
			Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels,
		})
	}
	counter := func(metric, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels,
		})
	}
	histogram := func(metric, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels,
			Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12),
		})
	}
	q := &Queue{
		depth: gauge("depth", "[BETA] Current depth of workqueue"),
		adds:  counter("adds_total", "[BETA] Total number of adds handled by workqueue"),
		waited: histogram("queue_duration_seconds",
			"[BETA] How long in seconds an item stays in workqueue before being requested."),
		worked:  histogram("work_duration_seconds", "[BETA] How long in seconds processing an item from workqueue takes."),
		retries: counter("retries_total", "[BETA] Total number of retries handled by workqueue"),
		unfinished: gauge("unfinished_work_seconds",
			"[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. "+
				"Large values indicate stuck threads. One can deduce the number of stuck threads by observing "+
				"the rate at which this increases."),
		longest: gauge("longest_running_processor_seconds",
			"[BETA] How many seconds has the longest running processor for workqueue been running."),
	}
	q.collectors = collectors{q.depth, q.adds, q.waited, q.worked, q.unfinished, q.longest, q.retries}
	return q
}

// collectors is a prometheus.Collector of all of its metrics.
type collectors []prometheus.Collector

// Describe implements prometheus.Collector.
func (c collectors) Describe(descriptions chan<- *prometheus.Desc) {
	for _, collector := range c {
		collector.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (c collectors) Collect(metrics chan<- prometheus.Metric) {
	for _, collector := range c {
		collector.Collect(metrics)
	}
}

// These make a Queue a workqueue.MetricsProvider.

func (q *Queue) NewDepthMetric(string) workqueue.GaugeMetric { return q.depth }

func (q *Queue) NewAddsMetric(string) workqueue.CounterMetric { return q.adds }

func (q *Queue) NewLatencyMetric(string) workqueue.HistogramMetric { return q.waited }

func (q *Queue) NewWorkDurationMetric(string) workqueue.HistogramMetric { return q.worked }

func (q *Queue) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.unfinished
}

func (q *Queue) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.longest
}

func (q *Queue) NewRetriesMetric(string) workqueue.CounterMetric { return q.retries }

// Reconciles has the metrics of one reconciler of controller objects. It is a prometheus.Collector.
type Reconciles struct {
	collectors
	total            *prometheus.CounterVec
	errors, terminal prometheus.Counter
	duration         prometheus.Histogram
	active, workers  prometheus.Gauge
}

// NewReconciles returns the metrics of a reconciler with that number of workers.
func NewReconciles(reconciler string, workers int) *Reconciles {
	labels := prometheus.Labels{"controller": reconciler}
	counter := func(metric, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Subsystem: "controller_runtime", Name: metric, Help: help, ConstLabels: labels}
	}
	gauge := func(metric, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{
			Subsystem: "controller_runtime", Name: metric, Help: help, ConstLabels: labels,
		})
	}
	r := &Reconciles{
		total: prometheus.NewCounterVec(
			counter("reconcile_total", "Total number of reconciliations per controller"), []string{"result"}),
		errors: prometheus.NewCounter(
			counter("reconcile_errors_total", "Total number of reconciliation errors per controller")),
		terminal: prometheus.NewCounter(counter("terminal_reconcile_errors_total",
			"Total number of terminal reconciliation errors per controller")),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: "controller_runtime", Name: "reconcile_time_seconds",
			Help:        "Length of time per reconciliation per controller",
			ConstLabels: labels, Buckets: reconcileBuckets(),
		}),
		active:  gauge("active_workers", "Number of currently used workers per controller"),
		workers: gauge("max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller"),
	}
	r.workers.Set(float64(workers))
	for _, result := range []string{resultSuccess, resultError} {
		r.total.WithLabelValues(result) // shows 0 before the first, instead of nothing
	}
	r.collectors = collectors{r.total, r.errors, r.terminal, r.duration, r.active, r.workers}
	return r
}

const (
	resultSuccess = "success"
	resultError   = "error"
)

// reconcileBuckets are the buckets of controller-runtime, in seconds.
func reconcileBuckets() []float64 {
	return []float64{
		0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
		1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
	}
}

// Measure runs one reconciliation and counts it: as an error if reconcile returns one, and as a terminal error if
// reconcile also reports that it is done, that is, not to be retried.
func (r *Reconciles) Measure(reconcile func() (done bool, err error)) (done bool) {
	started := time.Now()
	r.active.Inc()
	defer func() {
		r.active.Dec()
		r.duration.Observe(time.Since(started).Seconds())
	}()
	done, err := reconcile()
	if err == nil {
		r.total.WithLabelValues(resultSuccess).Inc()
		return done
	}
	r.total.WithLabelValues(resultError).Inc()
	r.errors.Inc()
	if done {
		r.terminal.Inc()
	}
	return done
}
