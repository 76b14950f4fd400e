// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install registers the API group in the scheme of an API server. It touches nothing else.
package install
