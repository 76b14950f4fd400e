// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes a serving certificate for an API server in a cluster. The package creates a certificate
// authority, which is valid for ten years. The authority signs the serving certificate. The package renews the
// certificate every two months, without a restart.
//
// A [SecretProvider] keeps the authority and the certificate in a Secret of the host, which replicas share, and writes
// the authority into the APIService as its caBundle. renewal.go decides what the Secret should hold. It uses only the
// Secret, the served content, the names of the server and the time.
package servingcert
