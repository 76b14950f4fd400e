// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes the certificate that the API server shows to its clients, for those who bring none.
//
// An authority of our own, which stays the same for ten years, signs a certificate that is renewed every two months without a
// restart. The APIService at the host carries the authority as its caBundle, so the host can tell our server from another.
package servingcert
