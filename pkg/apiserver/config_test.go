// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The server compresses each event of a watch for those who ask for it, as clients do by default.
func TestWithinTheProcessNothingIsCompressed(t *testing.T) {
	t.Parallel()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	config := NewConfig(scheme)
	config.GenericConfig.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.GenericConfig.LoopbackClientConfig = &rest.Config{}
	config.GenericConfig.ExternalAddress = "192.0.2.1:443"
	if _, err := config.Complete(); err != nil {
		t.Fatal(err)
	}
	if !config.GenericConfig.LoopbackClientConfig.DisableCompression {
		t.Error("the loopback client asks for compressed answers")
	}
}

// The keys and the version are what an older or newer server finds in the storage: changing them
// loses objects.
func TestWhereAndAsWhatObjectsAreStored(t *testing.T) {
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	factory := NewStorageFactory(scheme, *storagebackend.NewDefaultConfig("/metacontroller", nil))
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for _, resource := range storedResources() {
		if got, want := factory.ResourcePrefix(resource), "metacontroller.k8s.io/"+resource.Resource; got != want {
			t.Errorf("prefix of %s is %s, want %s", resource, got, want)
		}
		config, err := factory.NewConfig(resource, object)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := runtime.Encode(config.Codec, object)
		if err != nil {
			t.Fatal(err)
		}
		var stored metav1.TypeMeta
		if err := json.Unmarshal(encoded, &stored); err != nil || stored.APIVersion != "metacontroller.k8s.io/v1alpha1" {
			t.Errorf("%s is stored as %q (error %v), want metacontroller.k8s.io/v1alpha1", resource, stored.APIVersion, err)
		}
	}
}
