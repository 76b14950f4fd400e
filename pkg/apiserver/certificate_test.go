// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"sync"
	"sync/atomic"
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

// A server that stops at once may do so before its post-start hooks have run.
func TestTheKeeperOfTheCertificateDoesNotStartAfterTheServerHasStopped(t *testing.T) {
	runs := &countedKeeper{}
	for range 1000 {
		keeper := &certificateKeeper{runner: runs}
		var starting sync.WaitGroup
		starting.Go(func() { keeper.start(t.Context()) })
		keeper.wait()
		before := runs.count.Load()
		starting.Wait()
		keeper.running.Wait()
		if runs.count.Load() != before {
			t.Fatal("the keeper has started after the server had stopped")
		}
	}
}

// countedKeeper counts how often it runs.
type countedKeeper struct{ count atomic.Int32 }

func (*countedKeeper) RunOnce(context.Context) error { return nil }

func (k *countedKeeper) Run(context.Context, int) { k.count.Add(1) }
