// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alloctest limits the number of allocations of a function. The
// number is the same on any machine, unlike a duration. Such a test must not run in parallel with
// others, because their allocations would be counted, too.
package alloctest
