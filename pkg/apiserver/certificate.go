// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"
)

// sharedCertificate is a certificate that is kept where replicas share it, with its authority.
type sharedCertificate interface {
	// Check returns why the certificate is not yet the shared one.
	Check() error
	// AuthorityEnd returns when the authority of the certificate expires.
	AuthorityEnd() time.Time
}

// certificateKeeper runs the controller that keeps the serving certificate up to date. The library would run it itself,
// but concurrently with the creation of its listener, which is a data race if the certificate changes at that moment.
type certificateKeeper struct {
	runner dynamiccertificates.ControllerRunner

	mu sync.Mutex
	// stopped is true once the server has stopped. The server may stop before it serves.
	stopped bool
	running sync.WaitGroup
}

// installCertificateKeeper runs the keeper of the serving certificate once the server serves. It returns nil if the
// certificate does not change.
func installCertificateKeeper(server *genericapiserver.GenericAPIServer) (*certificateKeeper, error) {
	runner := takeKeeper(server.SecureServingInfo)
	if runner == nil {
		return nil, nil
	}
	k := &certificateKeeper{runner: runner}
	return k, server.AddPostStartHook("keep-serving-certificate", func(hook genericapiserver.PostStartHookContext) error {
		k.start(hook)
		return nil
	})
}

// start runs the keeper until ctx ends, unless the server has stopped.
func (k *certificateKeeper) start(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stopped {
		k.running.Go(func() { k.runner.Run(ctx, 1) })
	}
}

// takeKeeper returns the keeper of the certificate, if it has one, and hides it from the library.
func takeKeeper(serving *genericapiserver.SecureServingInfo) dynamiccertificates.ControllerRunner {
	runner, ok := serving.Cert.(dynamiccertificates.ControllerRunner)
	if !ok {
		return nil
	}
	serving.Cert = struct {
		dynamiccertificates.CertKeyContentProvider
	}{serving.Cert}
	return runner
}

// prepare updates the certificate before the server serves, if that is possible now.
func (k *certificateKeeper) prepare(ctx context.Context) {
	if k == nil {
		return
	}
	if err := k.runner.RunOnce(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("The shared serving certificate is not available yet", "err", err)
	}
}

// wait waits until the keeper has stopped, after the server has. The keeper cannot start after that.
func (k *certificateKeeper) wait() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.running.Wait()
}

// installCertificateHealth makes the server not ready while its certificate cannot be trusted. The
// kubelet's probes, which do not check certificates, would not notice otherwise.
func installCertificateHealth(
	server *genericapiserver.GenericAPIServer, cert dynamiccertificates.CertKeyContentProvider,
) error {
	return server.AddReadyzChecks(healthz.NamedCheck("serving-certificate", func(*http.Request) error {
		if shared, ok := cert.(sharedCertificate); ok {
			if err := shared.Check(); err != nil {
				return err
			}
		}
		notAfter, err := certificateEnd(cert)
		if err != nil {
			return err
		}
		if time.Now().After(notAfter) {
			return fmt.Errorf("serving certificate expired at %s", notAfter)
		}
		return nil
	}))
}

// certificateMetrics returns the metrics of the times when the serving certificate and its authority expire.
func certificateMetrics(cert dynamiccertificates.CertKeyContentProvider) prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "metacontroller_serving_certificate_expiration_timestamp_seconds",
		Help: "[ALPHA] Expiry of the serving certificate of the API server, in seconds since 1970; 0 if it " +
			"cannot be read.",
	}, func() float64 {
		notAfter, err := certificateEnd(cert)
		if err != nil {
			return 0
		}
		return float64(notAfter.Unix())
	}))
	if shared, ok := cert.(sharedCertificate); ok {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "metacontroller_serving_authority_expiration_timestamp_seconds",
			Help: "[ALPHA] Expiry of the authority in the Secret of --certificate-secret, in seconds since 1970. The " +
				"server replaces the authority long before it expires.",
		}, func() float64 { return float64(shared.AuthorityEnd().Unix()) }))
	}
	return registry
}

// certificateEnd returns when the serving certificate expires.
func certificateEnd(cert dynamiccertificates.CertKeyContentProvider) (time.Time, error) {
	pair, err := tls.X509KeyPair(cert.CurrentCertKeyContent())
	if err != nil {
		return time.Time{}, fmt.Errorf("serving certificate %q cannot be used: %w", cert.Name(), err)
	}
	return pair.Leaf.NotAfter, nil
}
