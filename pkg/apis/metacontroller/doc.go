// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=metacontroller.k8s.io

// Package metacontroller holds the internal types of the API, also called the hub. Every served
// version converts to and from them, and validation, admission, storage strategies and tables work
// on them. The meaning of the fields is documented at the public types, in v1alpha1. The package is
// pure.
package metacontroller
