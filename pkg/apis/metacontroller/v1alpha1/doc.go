// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.k8s.metacontroller.v1alpha1
// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +groupName=metacontroller.k8s.io

// Package v1alpha1 is the public API of Metacontroller: the objects with which users define controllers whose logic is
// a webhook or an inline hook, and the objects that show the work of these controllers: ControllerRevisions, Syncs,
// HookCalls and SyncReviews. ResyncRequests request syncs. What the CRDs of Metacontroller 4.17 define has the same
// JSON here, so the same manifests work. kubectl explain prints the comments of the types.
package v1alpha1
