// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
)

// NewScheme returns a scheme of all types that the server reads, stores and answers.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return nil, err
	}
	// Request options, and answers such as Status, have version v1 and no group.
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	scheme.AddUnversionedTypes(version,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme, nil
}

// NewCodecs returns the codecs of a scheme. They write lists item by item instead of encoding them
// in memory first.
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
}
