// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates tests the flag --certificate-secret on a cluster: the cluster trusts the server with
// nothing but the server started, and goes on trusting it whatever becomes of the Secret and the APIService.
package certificates
