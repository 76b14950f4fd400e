// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the API server: the generic one of k8s.io/apiserver with the group metacontroller.k8s.io in it, and
// the controller loop beside it, which starts after the API and stops before it.
package apiserver
