// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Prefix is what the keys of all objects in etcd begin with.
const Prefix = "/registrytest"

// StartStorage runs an etcd until the end of the test and makes config keep objects there, with the
// watch cache on. It returns a client of the etcd.
func StartStorage(t testing.TB, scheme *runtime.Scheme, config *genericapiserver.Config) *kubernetes.Client {
	t.Helper()
	client := testserver.RunEtcd(t, nil)
	stored := v1alpha1.SchemeGroupVersion
	backend := storagebackend.NewDefaultConfig(Prefix, serializer.NewCodecFactory(scheme).LegacyCodec(stored))
	backend.EncodeVersioner = stored
	backend.Transport.ServerList = client.Endpoints()
	options := genericoptions.NewEtcdOptions(backend)
	options.SkipHealthEndpoints = true
	if err := options.ApplyTo(config); err != nil {
		t.Fatal(err)
	}
	return client
}
