// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install registers every version of the API group of the migration in a scheme. It touches nothing else.
package install
