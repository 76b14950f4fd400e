// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observing tests what users see of the work of controllers, and what they can have done: the rows for every parent, the
// last calls of hooks, and syncs on request.
package observing
