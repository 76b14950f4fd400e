// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes a serving certificate for an API server that is given none. In go a
// directory and the names of the server; out comes a [Provider], which always has a valid
// certificate. It touches only the files in that directory.
//
// An authority of our own, which is valid for ten years, signs a serving certificate, which is
// renewed every two months without a restart. The APIService at the host has the authority as its
// caBundle, so that the host can verify the server.
package servingcert
