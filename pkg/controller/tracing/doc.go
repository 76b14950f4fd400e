// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes the spans of syncs: from the event that enqueued a parent, over the calls of hooks, to each
// write. The context of a sync carries its span, so that a stage that starts a span below it needs no tracer. If the
// sync has no span, starting one below it costs nothing.
package tracing
