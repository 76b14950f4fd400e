// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.k8s.metacontroller.v1alpha1
// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +groupName=metacontroller.k8s.io

// Package v1alpha1 is the public API of Metacontroller: the objects that turn a webhook into a controller. Its JSON is
// that of the CRDs of Metacontroller 4.17, so the same manifests work. kubectl explain prints the comments of the
// types.
package v1alpha1
