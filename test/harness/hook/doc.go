// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hook serves webhooks to controllers under test. A Handler decides the answer to each Call. A
// Server listens on loopback, runs the handler and records the calls; it ends with its test.
//
// CompositeRequest and DecoratorRequest are what controllers send. The package needs no cluster.
package hook
