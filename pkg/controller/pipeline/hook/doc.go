// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hook calls users' webhooks, and evaluates inline hooks. A Webhook is one hook of one controller. It takes a
// Snapshot of a parent, encodes it as a JSON request, and returns the answer of the hook: a Response with the desired
// children and status (SyncComposite, SyncDecorator), or the rules for related objects (Customize).
//
// The work is divided by job into packages, which import each other only downwards:
//
//   - hook makes the call: one HTTP POST with its deadline and size limit, the ETag cache, the circuit breaker for
//     hooks that are down, throttling (429), metrics and logs. For an inline hook, package inline evaluates the request
//     instead (inline.go).
//   - hook/calllog keeps the last calls, and shows them as HookCalls.
//   - hook/protocol encodes requests and decodes answers. It is pure.
//   - hook/transport makes the connections: TLS, credentials and their rotation, denied addresses.
//
// The protocol is a few functions from bytes to types of package pipeline, and a transport is an http.RoundTripper.
// Each can change without the other.
//
// The package uses the network, and reads Secrets and ConfigMaps through transport.Sources. It reads and writes nothing
// else of the host cluster.
package hook
