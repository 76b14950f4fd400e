// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
		return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: "controller_runtime", Name: metric, Help: help, ConstLabels: labels})
	}
	r := &Reconciles{
		total:    prometheus.NewCounterVec(counter("reconcile_total", "Total number of reconciliations per controller"), []string{"result"}),
		errors:   prometheus.NewCounter(counter("reconcile_errors_total", "Total number of reconciliation errors per controller")),
		terminal: prometheus.NewCounter(counter("terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller")),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: "controller_runtime", Name: "reconcile_time_seconds", Help: "Length of time per reconciliation per controller",
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

// Measure runs one reconciliation and counts it: as an error if reconcile returns one, and as a
// terminal error if it is also done, so that it is not retried.
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
