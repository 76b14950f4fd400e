// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
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
