// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests what the server is installed with: the manifests of artifacts/deploy, the Helm
// chart, and the commands of docs/install.md. The host cluster has no nodes, so nothing here runs the
// server; the host says whether it accepts the objects.
package install
