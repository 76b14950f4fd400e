// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package children finds the children of a parent in the cluster, and says what is wrong with an object as far as it shows that
// itself.
package children
