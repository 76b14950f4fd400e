// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol knows what is sent to hooks and what they answer, and nothing of how they are
// called. AppendRequest makes the body of a request from a Snapshot, in the words of a kind of
// controller (Format) and in version v1 or v2. A Decoder reads the body of an answer into a
// Response, or into the rules for related objects. Whether an answer is read strictly or loosely,
// and which text must not be shown because it is about Secrets, is decided here too.
//
// The package is pure: bytes in, bytes out, no network and no logs.
package protocol
