// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// storedResources returns the resources of metacontroller.k8s.io that are stored in etcd.
func storedResources() []schema.GroupResource {
	return []schema.GroupResource{
		v1alpha1.Resource("compositecontrollers"),
		v1alpha1.Resource("decoratorcontrollers"),
		v1alpha1.Resource("controllerrevisions"),
	}
}

// NewStorageFactory returns how each resource is stored: as JSON, in a version that is pinned here.
// It need not be the version that the scheme prefers: older servers must be able to read the
// storage after the preferred version has changed.
func NewStorageFactory(scheme *runtime.Scheme, backend storagebackend.Config) serverstorage.StorageFactory {
	encodings := serverstorage.NewDefaultResourceEncodingConfig(scheme)
	prefixes := map[schema.GroupResource]string{}
	for _, resource := range storedResources() {
		encodings.SetResourceEncoding(resource, v1alpha1.SchemeGroupVersion, v1alpha1.InternalGroupVersion)
		prefixes[resource] = resource.Group + "/" + resource.Resource
	}
	return serverstorage.NewDefaultStorageFactory(backend, runtime.ContentTypeJSON, NewCodecs(scheme), encodings,
		serverstorage.NewResourceConfig(), prefixes)
}
