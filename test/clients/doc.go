// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients runs the tools that people install controllers with against a server: Helm, the engines of Flux and
// Argo CD, and kstatus. It is a module of its own, because these tools need many others.
package clients
