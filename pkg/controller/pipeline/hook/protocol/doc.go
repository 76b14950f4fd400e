// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol encodes the requests to hooks and decodes their answers. It does not call hooks. AppendRequest
// makes the body of a request from a Snapshot, in the format of a kind of controller (Format) and in version v1 or
// v2. A Decoder reads the body of an answer into a Response, or into the rules for related objects. The package also
// decides whether an answer is read strictly or loosely, and redacts what errors quote of it.
//
// The package is pure: bytes in, bytes out, no network and no logs.
package protocol
