// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes the spans of syncs: from the event that enqueued a parent, through the hook calls, to each
// write. The context of a sync carries its span, so a stage that starts a span below it needs no tracer. If the sync
// has no span, starting one below it costs nothing.
package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation in each span.
const scope = "github.com/metacontroller/metacontroller-apiserver"

// The attributes of spans. Those of requests are named as OpenTelemetry names them.
const (
	Controller = attribute.Key("metacontroller.controller")
	Cause      = attribute.Key("metacontroller.cause")
	Kind       = attribute.Key("k8s.object.kind")
	Namespace  = attribute.Key("k8s.namespace.name")
	Name       = attribute.Key("k8s.object.name")
	Steps      = attribute.Key("metacontroller.steps")
	Operation  = attribute.Key("metacontroller.operation")
	Why        = attribute.Key("metacontroller.why")
	Conflict   = attribute.Key("metacontroller.conflict")
	Hook       = attribute.Key("metacontroller.hook")
	URL        = attribute.Key("url.full")
	Status     = attribute.Key("http.response.status_code")
	Sent       = attribute.Key("http.request.body.size")
	Received   = attribute.Key("http.response.body.size")
)

// Tracer starts the spans of syncs.
type Tracer struct{ tracer trace.Tracer }

// New returns a tracer; nil if there is no provider.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer(scope)}
}

// StartSync starts the span of a sync, which begins with the event that caused it. Below it is the span of the time in
// the queue, which ends now.
func (t *Tracer) StartSync(ctx context.Context, caused time.Time) (context.Context, Span) {
	ctx, span := t.tracer.Start(ctx, "sync", trace.WithTimestamp(caused), trace.WithNewRoot())
	_, waiting := t.tracer.Start(ctx, "queue", trace.WithTimestamp(caused))
	waiting.End()
	return ctx, Span{span}
}

// Start starts a span below the span of the context. If that is not recorded, neither is this one.
func Start(ctx context.Context, name string) (context.Context, Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := above.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, Span{span}
}

// FromContext returns the span of the context.
func FromContext(ctx context.Context) Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return Span{span}
	}
	return Span{}
}

// Span is a span that may not be recorded. The zero value is not.
type Span struct{ span trace.Span }

// IsRecorded reports whether attributes are worth making.
func (s Span) IsRecorded() bool { return s.span != nil && s.span.IsRecording() }

// Set sets attributes.
func (s Span) Set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}

// Fail records an error on the span. A nil error records nothing.
func (s Span) Fail(err error) {
	if s.span != nil && err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Inject writes the span of the context into a header, in the format of the W3C trace context, so that spans of the
// other side are in the same trace. It writes nothing if there is no span.
func Inject(ctx context.Context, header http.Header) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	}
}

// Transport returns a transport whose requests have the span of their context in their header.
func Transport(inner http.RoundTripper) http.RoundTripper { return transport{inner} }

type transport struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if trace.SpanContextFromContext(request.Context()).IsValid() {
		request = request.Clone(request.Context())
		Inject(request.Context(), request.Header)
	}
	return t.inner.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.inner }
