// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version reports which build of metacontroller-apiserver is running. It reads what the linker and the Go
// toolchain have written into the binary. It does not set the version of Kubernetes that the API server emulates.
package version
