// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resync serves the subresource resync of controllers. A ResyncRequest is created, answered and not stored: in
// comes its spec, which is validated here, and out comes the request with the number of the parents that the controller
// loop will sync.
package resync
