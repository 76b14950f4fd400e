// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Queue has the metrics of one work queue. It is the queue's workqueue.MetricsProvider and a
// prometheus.Collector. The owner of the queue registers it while the queue is in use, so that no
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
		return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels})
	}
	counter := func(metric, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels})
	}
	histogram := func(metric, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: "workqueue", Name: metric, Help: help, ConstLabels: labels, Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12),
		})
	}
	q := &Queue{
		depth:   gauge("depth", "[BETA] Current depth of workqueue"),
		adds:    counter("adds_total", "[BETA] Total number of adds handled by workqueue"),
		waited:  histogram("queue_duration_seconds", "[BETA] How long in seconds an item stays in workqueue before being requested."),
		worked:  histogram("work_duration_seconds", "[BETA] How long in seconds processing an item from workqueue takes."),
		retries: counter("retries_total", "[BETA] Total number of retries handled by workqueue"),
		unfinished: gauge("unfinished_work_seconds", "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. "+
			"Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases."),
		longest: gauge("longest_running_processor_seconds", "[BETA] How many seconds has the longest running processor for workqueue been running."),
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
