// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// healthMetrics shows what Health and RuntimeProblem know. They are asked when the metrics are: a sync counts
// nothing for them.
type healthMetrics struct {
	controller                                     *Controller
	ready, parents, warned, outdated, loops, downs *prometheus.Desc
}

func newHealthMetrics(of *Controller) *healthMetrics {
	labels := prometheus.Labels{"controller_name": of.spec.Name, "controller_type": of.spec.Kind.Name}
	describe := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("metacontroller_"+name, "[ALPHA] "+help, variable, labels)
	}
	return &healthMetrics{
		controller: of,
		ready:      describe("controller_ready", "1 if the running controller sees the cluster and reaches its hooks, 0 if not."),
		parents:    describe("parents", "Parents of the controller by how their last sync ended: synced, failing, paused, or pending if there was none.", "state"),
		warned:     describe("parents_warned", "Parents whose last sync found what is probably a mistake."),
		outdated:   describe("children_outdated", "Children that the update method OnDelete, or none, leaves as they are."),
		loops:      describe("write_loops", "Writes that are slowed down because they would be repeated again and again."),
		downs:      describe("hook_down", "1 if the hook has not answered several calls in a row, 0 if it has.", "hook"),
	}
}

// Describe implements prometheus.Collector.
func (m *healthMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{m.ready, m.parents, m.warned, m.outdated, m.loops, m.downs} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (m *healthMetrics) Collect(metrics chan<- prometheus.Metric) {
	show := func(description *prometheus.Desc, value int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(value), labels...)
	}
	c := m.controller
	health := c.Health()
	show(m.ready, count(c.RuntimeProblem() == nil))
	show(m.parents, health.Synced, "synced")
	show(m.parents, health.Failing, "failing")
	show(m.parents, health.Paused, "paused")
	if !health.Uncounted {
		show(m.parents, max(health.Total-health.Synced-health.Failing-health.Paused, 0), "pending")
	}
	show(m.warned, health.Warned)
	show(m.outdated, health.Outdated)
	show(m.loops, len(health.WriteLoops))
	for name, webhook := range map[string]*hook.Webhook{
		hook.Sync: c.hooks.sync, hook.Finalize: c.hooks.finalize, hook.Customize: c.hooks.customize,
	} {
		if webhook != nil {
			show(m.downs, count(webhook.CircuitOpen() != nil), name)
		}
	}
}
