// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hookcall serves HookCalls, the last calls of the hooks of controllers. It describes the kind to package live,
// which makes the REST storage of it: kind.go names its resource and the fields that are selected by, and columns.go
// what kubectl get prints. A call is read with its bodies, so that its reader has to have the rights to what these show
// (bodies.go).
package hookcall
