// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Controller is a running controller.
type Controller interface {
	// Health and RuntimeProblem return how it is doing.
	Health() report.Health
	RuntimeProblem() *report.Problem
}

// metrics exports the health of a controller. It is computed when the metrics are read: a sync counts nothing for them.
type metrics struct {
	controller                                     Controller
	hooks                                          map[string]*hook.Webhook
	ready, parents, warned, outdated, loops, downs *prometheus.Desc
}

// NewMetrics returns the metrics of the health of a controller of a kind and a name, and of its hooks. A hook may be
// nil.
func NewMetrics(of Controller, kind, name string, hooks map[string]*hook.Webhook) prometheus.Collector {
	labels := prometheus.Labels{"controller_name": name, "controller_type": kind}
	describe := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("metacontroller_"+name, "[ALPHA] "+help, variable, labels)
	}
	return &metrics{
		controller: of,
		hooks:      hooks,
		ready: describe("controller_ready", "1 if the running controller sees the cluster and reaches its hooks, 0 "+
			"if not."),
		parents: describe("parents", "Parents of the controller by how their last sync ended: synced, failing, paused, "+
			"or pending if there was none.", "state"),
		warned:   describe("parents_warned", "Parents whose last sync found a probable mistake."),
		outdated: describe("children_outdated", "Outdated children whose update method is OnDelete or not set."),
		loops:    describe("write_loops", "Writes that the server throttles because they repeat in a loop."),
		downs:    describe("hook_down", "1 if several consecutive calls of the hook got no answer, 0 otherwise.", "hook"),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{m.ready, m.parents, m.warned, m.outdated, m.loops, m.downs} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(collected chan<- prometheus.Metric) {
	show := func(description *prometheus.Desc, value int, labels ...string) {
		collected <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(value), labels...)
	}
	health := m.controller.Health()
	show(m.ready, count(m.controller.RuntimeProblem() == nil))
	show(m.parents, health.Synced, "synced")
	show(m.parents, health.Failing, "failing")
	show(m.parents, health.Paused, "paused")
	if !health.Uncounted {
		show(m.parents, max(health.Total-health.Synced-health.Failing-health.Paused, 0), "pending")
	}
	show(m.warned, health.Warned)
	show(m.outdated, health.Outdated)
	show(m.loops, health.WriteLoops)
	for name, webhook := range m.hooks {
		if webhook != nil {
			show(m.downs, count(webhook.CircuitOpen() != nil), name)
		}
	}
}
