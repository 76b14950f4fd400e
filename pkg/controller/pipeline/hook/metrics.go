// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// ControllerRef names the controller that a hook belongs to.
type ControllerRef struct {
	// Type is CompositeController or DecoratorController.
	Type string
	Name string
}

// Metrics measures the calls of hooks, under the names that Metacontroller gave them. It
// is one collector for all hooks of a process; a hook is in it from New to Close.
type Metrics struct {
	byHook map[string]*callMetrics

	mu sync.Mutex
	// users is how many hooks are measured by the same series: two while a controller is
	// replaced.
	users map[seriesKey]int
}

// seriesKey is what the series of a hook are told apart by.
type seriesKey struct {
	hook, url  string
	controller ControllerRef
}

// NewMetrics makes metrics without any hook in them.
func NewMetrics() *Metrics {
	m := &Metrics{byHook: map[string]*callMetrics{}, users: map[seriesKey]int{}}
	for _, name := range []string{Sync, Finalize, Customize} {
		m.byHook[name] = newCallMetrics(name)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, calls := range m.byHook {
		for _, vector := range calls.all() {
			vector.Describe(descriptions)
		}
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, calls := range m.byHook {
		for _, vector := range calls.all() {
			vector.Collect(metrics)
		}
	}
}

// measure returns the transport with its requests measured until end is called.
func (m *Metrics) measure(transport http.RoundTripper, hook, url string, controller ControllerRef) (measuring http.RoundTripper, end func()) {
	if m == nil {
		return tracingTransport{transport, func() *httptrace.ClientTrace { return &httptrace.ClientTrace{} }}, func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := seriesKey{hook, url, controller}
	m.users[of]++
	calls, labels := m.byHook[hook], of.labels()
	return calls.measure(transport, labels), sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.users[of]--; m.users[of] == 0 {
			delete(m.users, of)
			calls.remove(labels)
		}
	})
}

// The labels that tell hooks apart.
const (
	urlLabel  = "url"
	nameLabel = "controller_name"
	typeLabel = "controller_type"
)

func (m seriesKey) labels() prometheus.Labels {
	return prometheus.Labels{urlLabel: m.url, nameLabel: m.controller.Name, typeLabel: m.controller.Type}
}
