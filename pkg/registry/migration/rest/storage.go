// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/migration/imports"
)

// StorageProvider makes the API group migration.metacontroller.k8s.io.
type StorageProvider struct {
	// Scheme knows all types of both groups, and those of metav1 for group "" and version "v1".
	Scheme *runtime.Scheme
	// Serializer encodes what the group answers.
	Serializer runtime.NegotiatedSerializer
	// Importers write the objects that are imported.
	Importers []*resource.Importer
	// Advise warns of what there is to say about an object that is imported; nil if nothing is known.
	Advise imports.Advise
}

// GroupName returns the name of the API group.
func (p StorageProvider) GroupName() string { return migration.GroupName }

// NewRESTStorage returns the group. options returns where and how Imports are stored.
func (p StorageProvider) NewRESTStorage(options generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error) {
	storage, err := imports.NewREST(p.Scheme, p.Importers, p.Advise, options)
	if err != nil {
		return genericapiserver.APIGroupInfo{}, err
	}
	return genericapiserver.APIGroupInfo{
		PrioritizedVersions:          p.Scheme.PrioritizedVersionsForGroup(migration.GroupName),
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{v1alpha1.SchemeGroupVersion.Version: {"imports": storage}},
		Scheme:                       p.Scheme,
		ParameterCodec:               runtime.NewParameterCodec(p.Scheme),
		NegotiatedSerializer:         p.Serializer,
	}, nil
}
