// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resync serves the subresource resync of controllers. It validates the spec of a ResyncRequest, and answers
// the request with the number of parents that the controller loop will sync. It does not store the request.
package resync
