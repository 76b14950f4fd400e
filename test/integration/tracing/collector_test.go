// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"encoding/hex"
	"net"
	"sync"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector is an OpenTelemetry collector that keeps all spans.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	address string
	server  *grpc.Server
	serving sync.WaitGroup

	mu    sync.Mutex
	spans []*tracev1.Span
}

func collect() (*collector, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{address: listener.Addr().String(), server: grpc.NewServer()}
	collectorv1.RegisterTraceServiceServer(c.server, c)
	c.serving.Go(func() { _ = c.server.Serve(listener) })
	return c, nil
}

func (c *collector) stop() {
	c.server.Stop()
	c.serving.Wait()
}

// Export implements the service.
func (c *collector) Export(_ context.Context, request *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// span is a span with what tests look at.
type span struct {
	name, trace, id, parent string
	status                  string
	attributes              map[string]string
	begin, end              uint64
}

// ofTrace returns the spans of a trace by their names.
func (c *collector) ofTrace(trace string) map[string][]span {
	found := map[string][]span{}
	for _, one := range c.all() {
		if one.trace == trace {
			found[one.name] = append(found[one.name], one)
		}
	}
	return found
}

func (c *collector) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]span, len(c.spans))
	for i, one := range c.spans {
		all[i] = span{
			name: one.GetName(), trace: hex.EncodeToString(one.GetTraceId()), id: hex.EncodeToString(one.GetSpanId()),
			parent: hex.EncodeToString(one.GetParentSpanId()), status: one.GetStatus().GetMessage(), attributes: map[string]string{},
			begin: one.GetStartTimeUnixNano(), end: one.GetEndTimeUnixNano(),
		}
		for _, attribute := range one.GetAttributes() {
			value := attribute.GetValue()
			all[i].attributes[attribute.GetKey()] = value.GetStringValue()
			if value.GetStringValue() == "" {
				all[i].attributes[attribute.GetKey()] = value.String()
			}
		}
	}
	return all
}
