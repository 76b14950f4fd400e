// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poll repeats a check until it returns nil or its time is over. The error is the last one
// of the check.
package poll
