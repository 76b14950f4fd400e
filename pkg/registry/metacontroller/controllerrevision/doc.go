// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerrevision stores ControllerRevisions. It describes the kind to package resource,
// which makes its REST storage: its resource, content and validation, and what kubectl get prints. It touches only the
// storage that it is given.
package controllerrevision
