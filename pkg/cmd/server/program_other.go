// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

// unmapProgram does nothing here.
func unmapProgram() {}
