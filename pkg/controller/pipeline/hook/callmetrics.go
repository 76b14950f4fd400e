// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// callMetrics measures the calls of hooks of one name.
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
			Help: "Number of requests to the hook that were answered, redirects included, by status code and method.",
		}, labels("code", "method")),
		duration: histogram("request_duration_histogram_seconds",
			"Time from sending a request to the hook to the head of its answer, by method.", prometheus.DefBuckets, "method"),
		dns: histogram("dns_duration_histogram_seconds",
			"Time from the beginning of a request to an event of looking up the hook's address.", []float64{.005, .01, .025, .05}, "event"),
		tls: histogram("tls_duration_histogram_seconds",
			"Time from the beginning of a request to an event of agreeing on encryption with the hook.", []float64{.05, .1, .25, .5}, "event"),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: "in_flight_requests",
			Help: "Number of requests to the hook that the head of the answer has not come to.",
		}, labels()),
	}
}

// vector is what all kinds of vectors can do.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

func (c *callMetrics) all() []vector {
	return []vector{c.requests, c.duration, c.dns, c.tls, c.inFlight}
}

// measure returns a transport that measures its requests in the series of the labels.
func (c *callMetrics) measure(transport http.RoundTripper, labels prometheus.Labels) http.RoundTripper {
	transport = tracingTransport{transport, c.connect(labels)}
	transport = promhttp.InstrumentRoundTripperDuration(c.duration.MustCurryWith(labels), transport)
	transport = promhttp.InstrumentRoundTripperCounter(c.requests.MustCurryWith(labels), transport)
	return promhttp.InstrumentRoundTripperInFlight(c.inFlight.With(labels), transport)
}

// connect returns a function that measures, from its call on, what happens while a connection is made. promhttp has one
// too, which traces all there is to trace.
func (c *callMetrics) connect(labels prometheus.Labels) func() *httptrace.ClientTrace {
	// The series are made now: a connection may be made after all who wanted it have gone, and must not bring them
	// back then.
	dns, handshake := c.dns.MustCurryWith(labels), c.tls.MustCurryWith(labels)
	dnsStart, dnsDone := dns.WithLabelValues("dns_start"), dns.WithLabelValues("dns_done")
	handshakeStart, handshakeDone := handshake.WithLabelValues("tls_handshake_start"), handshake.WithLabelValues("tls_handshake_done")
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

// remove ends the series of the labels.
func (c *callMetrics) remove(labels prometheus.Labels) {
	for _, vector := range c.all() {
		vector.DeletePartialMatch(labels)
	}
}
