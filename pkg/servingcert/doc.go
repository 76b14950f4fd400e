// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes a serving certificate for an API server in a cluster. An authority of its own, which is
// valid for ten years, signs a serving certificate, which is renewed every two months without a restart.
//
// A [SecretProvider] keeps both in a Secret of the host, which replicas share, and writes the authority into the
// APIService as its caBundle. A pure function of the content of the Secret, the served content and the time decides
// what the Secret should hold (renewal.go).
package servingcert
