// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the name that was probably meant by a misspelled one.
package nearest
