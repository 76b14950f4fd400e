// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ControllerRef names the controller that a hook belongs to, in the labels of metrics.
type ControllerRef struct {
	// Type is CompositeController or DecoratorController.
	Type string
	Name string
}

// Metrics measures the calls of hooks. The metrics have the names that Metacontroller gave them.
// One collector is for all hooks of a process. A hook has series from New to Close.
type Metrics struct {
	byHook map[string]*callMetrics

	mu sync.Mutex
	// users counts the hooks that share a series. There are two while a controller is being replaced.
	users map[seriesKey]int
}

// seriesKey identifies the series of a hook.
type seriesKey struct {
	hook, url  string
	controller ControllerRef
}

// NewMetrics returns metrics without series.
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

// measure returns a transport that measures its requests. The series are removed when end has been
// called for all hooks that share them. Nil metrics measure nothing.
func (m *Metrics) measure(
	transport http.RoundTripper, hook, url string, controller ControllerRef,
) (measuring http.RoundTripper, end func()) {
	if m == nil {
		return tracingTransport{transport, func() *httptrace.ClientTrace { return &httptrace.ClientTrace{} }}, func() {}
	}
	of := seriesKey{hook, url, controller}
	end = m.begin(of)
	return m.byHook[hook].measure(transport, of.labels()), end
}

// measureInline returns the function that measures the evaluations of an inline hook. The series end like those of
// measure.
func (m *Metrics) measureInline(hook string, controller ControllerRef) (measuring *evaluations, end func()) {
	if m == nil {
		return nil, func() {}
	}
	of := seriesKey{hook, inlineAddress, controller}
	end = m.begin(of)
	return m.byHook[hook].evaluations(of.labels()), end
}

// begin counts one more hook that has the series. They are removed when end has been called for all of them.
func (m *Metrics) begin(of seriesKey) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[of]++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.users[of]--; m.users[of] == 0 {
			delete(m.users, of)
			for _, vector := range m.byHook[of.hook].all() {
				vector.DeletePartialMatch(of.labels())
			}
		}
	})
}

// The labels that identify a hook.
const (
	urlLabel  = "url"
	nameLabel = "controller_name"
	typeLabel = "controller_type"
)

func (k seriesKey) labels() prometheus.Labels {
	return prometheus.Labels{urlLabel: k.url, nameLabel: k.controller.Name, typeLabel: k.controller.Type}
}

// callMetrics measures the calls of all hooks of one name.
type callMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	dns, tls *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
}

func newCallMetrics(hook string) *callMetrics {
	labels := func(more ...string) []string { return append(more, urlLabel, nameLabel, typeLabel) }
	histogram := func(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: name, Help: help, Buckets: buckets,
		}, labels(label))
	}
	return &callMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: "requests_total",
			Help: "Number of answered requests to the hook, including redirects, by status code and method.",
		}, labels("code", "method")),
		duration: histogram("request_duration_histogram_seconds",
			"Time from sending a request to the hook to receiving the "+
				"header of its response, by method.", prometheus.DefBuckets, "method"),
		dns: histogram("dns_duration_histogram_seconds",
			"Time from the start of a request to an event of the DNS lookup of the hook.",
			[]float64{.005, .01, .025, .05}, "event"),
		tls: histogram("tls_duration_histogram_seconds",
			"Time from the start of a request to an event of the TLS handshake with the hook.",
			[]float64{.05, .1, .25, .5}, "event"),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: "in_flight_requests",
			Help: "Number of requests for which the server waits for the header of the response of the hook.",
		}, labels()),
	}
}

// vector is a metric of any type.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

func (c *callMetrics) all() []vector {
	return []vector{c.requests, c.duration, c.dns, c.tls, c.inFlight}
}

// measure returns a transport that measures its requests in the series with the labels.
func (c *callMetrics) measure(transport http.RoundTripper, labels prometheus.Labels) http.RoundTripper {
	transport = tracingTransport{transport, c.connect(labels)}
	transport = promhttp.InstrumentRoundTripperDuration(c.duration.MustCurryWith(labels), transport)
	transport = promhttp.InstrumentRoundTripperCounter(c.requests.MustCurryWith(labels), transport)
	return promhttp.InstrumentRoundTripperInFlight(c.inFlight.With(labels), transport)
}

// evaluations measures the evaluations of an inline hook like requests to a webhook. Nil measures nothing.
type evaluations struct {
	requests *prometheus.CounterVec
	duration prometheus.Observer
	inFlight prometheus.Gauge
}

func (c *callMetrics) evaluations(labels prometheus.Labels) *evaluations {
	inFlight := c.inFlight.With(labels)
	labels["method"] = "post"
	return &evaluations{c.requests.MustCurryWith(labels), c.duration.With(labels), inFlight}
}

// measure measures an evaluation.
func (e *evaluations) measure(evaluate func() (reply, error)) (reply, error) {
	if e == nil {
		return evaluate()
	}
	e.inFlight.Inc()
	defer e.inFlight.Dec()
	began := time.Now()
	evaluated, err := evaluate()
	if evaluated.sent {
		e.requests.WithLabelValues(strconv.Itoa(evaluated.status)).Inc()
		e.duration.Observe(time.Since(began).Seconds())
	}
	return evaluated, err
}

// connect returns a function that starts a clock and returns a trace, which measures how a
// connection is made. The trace of promhttp would observe many more events.
func (c *callMetrics) connect(labels prometheus.Labels) func() *httptrace.ClientTrace {
	// The series are created now. A connection can be made after its hook was closed, and must not
	// create them again.
	dns, handshake := c.dns.MustCurryWith(labels), c.tls.MustCurryWith(labels)
	dnsStart, dnsDone := dns.WithLabelValues("dns_start"), dns.WithLabelValues("dns_done")
	handshakeStart := handshake.WithLabelValues("tls_handshake_start")
	handshakeDone := handshake.WithLabelValues("tls_handshake_done")
	return func() *httptrace.ClientTrace {
		begin := time.Now()
		return &httptrace.ClientTrace{
			DNSStart:          func(httptrace.DNSStartInfo) { dnsStart.Observe(time.Since(begin).Seconds()) },
			DNSDone:           func(httptrace.DNSDoneInfo) { dnsDone.Observe(time.Since(begin).Seconds()) },
			TLSHandshakeStart: func() { handshakeStart.Observe(time.Since(begin).Seconds()) },
			TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
				if err == nil {
					handshakeDone.Observe(time.Since(begin).Seconds())
				}
			},
		}
	}
}

// tracingTransport traces each request, redirects included: how it gets its connection, and when
// its buffer has been sent.
type tracingTransport struct {
	http.RoundTripper
	// connect returns a new trace, which observes how one request gets its connection.
	connect func() *httptrace.ClientTrace
}

// RoundTrip implements http.RoundTripper. A request without a body, to which a redirect can lead,
// sends no buffer.
func (t tracingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := t.connect()
	if posted, ok := request.Context().Value(bufferKey{}).(*buffer); ok && request.Body != nil {
		trace.WroteRequest = posted.written
	}
	return t.RoundTripper.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
}
