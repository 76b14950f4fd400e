// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates that tests need: authorities, and the client and serving
// certificates that they issue. It reads and writes nothing but the files of KeyPair.Write.
package pki
