// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A sync that is not traced pays nothing.
func TestWithoutASpanNothingIsDone(t *testing.T) {
	ctx := t.Context()
	header := http.Header{}
	allocations := testing.AllocsPerRun(100, func() {
		below, span := Start(ctx, "plan")
		if below != ctx || span.IsRecorded() || FromContext(ctx).IsRecorded() {
			t.Error("there is a span")
		}
		span.Fail(errors.New("no"))
		span.End()
		Inject(ctx, header)
	})
	if allocations > 1 { // the error of the test
		t.Errorf("it allocates %v times", allocations)
	}
	if len(header) > 0 {
		t.Errorf("the header is %v", header)
	}
	if New(nil) != nil {
		t.Error("there is a tracer without a provider")
	}
}

func TestSpansOfASync(t *testing.T) {
	recorded := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded))
	caused := time.Now().Add(-time.Minute)
	ctx, sync := New(provider).StartSync(t.Context(), caused)
	func() {
		below, hook := Start(ctx, "hook")
		defer hook.End()
		hook.Set(Hook.String("sync"))
		hook.Fail(errors.New("no answer"))
		header := http.Header{}
		Inject(below, header)
		if want := hook.span.SpanContext().SpanID().String(); header.Get("Traceparent")[36:52] != want {
			t.Errorf("the header is %v, want the span %s", header, want)
		}
	}()
	sync.End()
	spans := map[string]tracetest.SpanStub{}
	for _, span := range recorded.GetSpans() {
		spans[span.Name] = span
	}
	root := spans["sync"]
	if !root.StartTime.Equal(caused) || !spans["queue"].StartTime.Equal(caused) || root.Parent.IsValid() {
		t.Errorf("the sync is %+v, in the queue it was %+v", root, spans["queue"])
	}
	for _, name := range []string{"queue", "hook"} {
		if spans[name].Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("%s is not below the sync", name)
		}
	}
	if spans["hook"].Status.Description != "no answer" {
		t.Errorf("the hook is %+v", spans["hook"])
	}
}

func TestTheTransportTellsTheOtherSideOfTheSpan(t *testing.T) {
	provider := sdktrace.NewTracerProvider()
	ctx, span := New(provider).StartSync(t.Context(), time.Now())
	defer span.End()
	for name, test := range map[string]struct {
		ctx  context.Context
		told bool
	}{"within a sync": {ctx, true}, "without one": {t.Context(), false}} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(test.ctx, http.MethodGet, "http://localhost", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			sent := roundTripper(func(sent *http.Request) { request = sent })
			before := request
			response, err := Transport(sent).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if told := request.Header.Get("Traceparent") != ""; told != test.told {
				t.Errorf("the other side is told: %t, want %t", told, test.told)
			}
			if len(before.Header) > 0 {
				t.Error("the request of the caller was changed")
			}
		})
	}
}

type roundTripper func(*http.Request)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	f(request)
	return &http.Response{Body: http.NoBody}, nil
}
