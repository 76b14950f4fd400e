// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes a serving certificate for an API server that is given none. An authority of
// our own, which is valid for ten years, signs a serving certificate, which is renewed every two months
// without a restart.
//
// A [Provider] keeps both in a directory. The APIService at the host has the authority as its caBundle, so that
// the host can verify the server; that is not done here.
//
// A [SecretProvider] keeps both in a Secret of the host, which replicas share, and keeps the caBundle, too. What the
// Secret should hold is decided by a pure function of what it holds, what is served and the time (renewal.go).
package servingcert
