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

// NewScheme returns a scheme that knows all that the server reads, stores and answers.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return nil, err
	}
	// The options of requests are read in version v1 of no group, and so are the answers that belong to no group.
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

// NewCodecs returns the codecs of a scheme. Lists are written as they are encoded, and not first into memory.
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
}
