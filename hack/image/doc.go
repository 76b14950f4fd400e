// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image packs builds of metacontroller-apiserver for several platforms as one container image. It needs no
// container engine, and packs the same input into the same bytes.
//
// It writes an OCI archive: an image layout (https://github.com/opencontainers/image-spec/blob/main/image-layout.md) in
// a tar file. Each platform has an image with nothing but the program, and beside it, in the form of BuildKit, a
// statement of what the program is made of.
package main
