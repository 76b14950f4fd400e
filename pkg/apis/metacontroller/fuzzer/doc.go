// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer fills the internal types with random content that survives a round trip through
// JSON, for tests.
package fuzzer
