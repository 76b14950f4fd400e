// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// keptCertificate is a certificate with a keeper.
type keptCertificate struct {
	dynamiccertificates.CertKeyContentProvider
	dynamiccertificates.ControllerRunner
}

func TestTheLibraryDoesNotRunTheKeeperOfTheCertificate(t *testing.T) {
	kept := keptCertificate{}
	serving := &genericapiserver.SecureServingInfo{Cert: kept}
	if keeper := takeKeeper(serving); keeper != kept {
		t.Errorf("the keeper that runs is %v, want that of the certificate", keeper)
	}
	if _, runs := serving.Cert.(dynamiccertificates.ControllerRunner); runs {
		t.Error("the library would run the keeper of the certificate, too, while it makes its listener")
	}
}
