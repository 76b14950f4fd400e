// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hook calls users' webhooks. A Webhook is one hook of one controller. It takes a Snapshot
// of a parent, posts it as JSON and returns what the hook answers: a Response with the desired
// children and status (SyncComposite, SyncDecorator), or the rules for related objects (Customize).
//
// The work is divided by job into three packages, which import each other only downwards:
//
//   - hook makes the call: one HTTP POST with its deadline and size limit, the ETag cache, the
//     circuit breaker for hooks that are down, throttling (429), metrics and logs.
//   - hook/protocol knows the JSON of requests and answers. It is pure.
//   - hook/transport makes the connections: TLS, credentials and their rotation, denied
//     addresses.
//
// The protocol is a few functions from bytes to types of package pipeline, and a transport is an
// http.RoundTripper. A change of one needs no knowledge of the others.
//
// The package touches the network, and Secrets and ConfigMaps through transport.Sources. It reads
// and writes nothing else of the host cluster.
package hook
