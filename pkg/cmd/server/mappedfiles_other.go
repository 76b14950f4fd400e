// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

// unmapFiles does nothing here.
func unmapFiles() {}
