// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=migration.metacontroller.k8s.io

// Package migration holds the internal types of the API by which objects of metacontroller.k8s.io come into the storage of
// this server from another one. The meaning of the fields is documented at the public types, in v1alpha1. The package is pure.
package migration
