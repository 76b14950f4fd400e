// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.k8s.metacontroller.migration.v1alpha1
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration
// +groupName=migration.metacontroller.k8s.io

// Package v1alpha1 is the public API of the migration: objects of metacontroller.k8s.io come into the storage of this server
// from another one. It is for the command `metacontroller-apiserver migrate`, and its form may change with that.
package v1alpha1
