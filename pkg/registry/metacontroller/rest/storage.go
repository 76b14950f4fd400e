// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// StorageProvider provides the API group metacontroller.k8s.io.
type StorageProvider struct {
	// Scheme knows all types of the group, and the types of metav1 for group "" and version "v1".
	Scheme *runtime.Scheme
	// Live shows what the controllers have in memory.
	Live Live
	// Reviews answers SyncReviews; nil if none are answered.
	Reviews live.SyncReviewer
}

// Live configures the kinds whose objects are read from memory and not stored. The server does not serve a kind
// without rows.
type Live struct {
	Syncs     *live.Rows[*v1alpha1.Sync]
	HookCalls *live.Rows[*v1alpha1.HookCall]
	// HookCall returns a call with its bodies, and Reviews asks the host whether its reader may see them.
	HookCall live.HookCallSource
	Reviews  rights.Reviews
	// Resync has parents of controllers synced; nil if the subresource is not served.
	Resync live.ResyncRequester
}

// GroupName returns the name of the API group.
func (p StorageProvider) GroupName() string {
	return v1alpha1.GroupName
}

// NewRESTStorage returns the group, which serves the storage of every kind as JSON and YAML. options
// returns, for each resource, where and how its objects are stored; it is called once for each.
func (p StorageProvider) NewRESTStorage(options generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error) {
	storages, err := p.v1alpha1(options)
	if err != nil {
		return genericapiserver.APIGroupInfo{}, err
	}
	codecs := serializer.NewCodecFactory(p.Scheme, serializer.WithStreamingCollectionEncodingToJSON())
	group := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, p.Scheme, runtime.NewParameterCodec(p.Scheme),
		codecs)
	group.NegotiatedSerializer = textOnly{codecs}
	group.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = storages
	return group, nil
}

func (p StorageProvider) v1alpha1(options generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	storages := map[string]rest.Storage{"syncreviews": live.NewSyncReviews(p.Reviews)}
	for _, newStorage := range []func(*runtime.Scheme, generic.RESTOptionsGetter) (*resource.Storage, error){
		resource.NewCompositeControllers,
		resource.NewDecoratorControllers,
		resource.NewControllerRevisions,
	} {
		storage, err := newStorage(p.Scheme, options)
		if err != nil {
			for _, made := range storages {
				made.Destroy()
			}
			return nil, err
		}
		name := storage.Main.DefaultQualifiedResource.Resource
		storages[name] = storage.Main
		storages[name+"/status"] = storage.Status
	}
	if p.Live.Resync != nil {
		for kind, resource := range map[string]string{"CompositeController": "compositecontrollers",
			"DecoratorController": "decoratorcontrollers"} {
			controllers := storages[resource].(rest.Getter)
			storages[resource+"/"+live.ResyncSubresource] = live.NewResync(kind, controllers, p.Live.Resync)
		}
	}
	if p.Live.Syncs != nil {
		storages[live.SyncsResource] = live.NewSyncs(p.Live.Syncs)
	}
	if p.Live.HookCalls != nil {
		storages[live.HookCallsResource] = live.NewHookCalls(p.Live.HookCalls, p.Live.HookCall, p.Live.Reviews)
	}
	return storages, nil
}

// textOnly is a codec factory that offers only the serializers of text, JSON and YAML. The types of
// the group have no protobuf form. If protobuf were offered, a client that accepts protobuf first
// and JSON second would get an error.
type textOnly struct {
	serializer.CodecFactory
}

// SupportedMediaTypes returns the media types to negotiate.
func (t textOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(t.CodecFactory.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return !info.EncodesAsText
	})
}
