// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=metacontroller.k8s.io

// Package metacontroller holds the internal form of the API objects, which validation and storage strategies work on and
// which every served version converts to and from. What the fields mean is said at the public types, in v1alpha1.
package metacontroller
