// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerrevision stores ControllerRevisions. It describes the kind to package resource,
// which makes the REST storage of it: kind.go names its resource, content and validation, and
// columns.go what kubectl get prints. It touches nothing but the storage that it is given.
package controllerrevision
