// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between one process of controllers and its two API servers: the host and
// our own. A Script decides what becomes of each request, and when the process is cut off.
//
//   - An Action is what becomes of one request: it fails, it is lost, its answer is lost.
//   - A Gate holds watches back, or makes them skip what happened while it was closed.
//   - A Lag makes the host one without streaming lists, whose cache shows an earlier state.
//
// What a process is told stays possible for a real host. The proxy never invents an object, and
// never shows an old state to a request that asks for the present one.
package proxy
