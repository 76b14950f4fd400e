// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // rest_client_* and workqueue_*
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
)

// Server is an API server that is ready to run.
type Server struct {
	// GenericAPIServer is the server of k8s.io/apiserver that this one is made of.
	GenericAPIServer *genericapiserver.GenericAPIServer

	controllers *controllers
	certificate *certificateKeeper
}

// New returns a server, with the group installed and the storage open.
func (c CompletedConfig) New() (_ *Server, err error) {
	provider := rest.StorageProvider{Scheme: c.scheme, Live: c.extra.Live, Reviews: c.extra.Reviews}
	group, err := provider.NewRESTStorage(c.generic.RESTOptionsGetter)
	if err != nil {
		return nil, fmt.Errorf("creating the storage of %s: %w", provider.GroupName(), err)
	}
	// Discovery and errors are served as the group is: as JSON and YAML, without protobuf.
	c.generic.Serializer = group.NegotiatedSerializer

	generic, err := c.generic.New(Name, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("creating the API server: %w", err)
	}
	defer func() {
		if err != nil {
			generic.Destroy()
		}
	}()
	if err := generic.InstallAPIGroups(&group); err != nil {
		return nil, fmt.Errorf("installing %s: %w", provider.GroupName(), err)
	}
	// The server is ready once the caches that answer lists and watches are filled.
	if err := generic.AddPostStartHook("storage-readiness", generic.StorageReadinessHook.Hook); err != nil {
		return nil, err
	}
	if err := installCertificateHealth(generic, c.generic.SecureServing.Cert); err != nil {
		return nil, err
	}
	if err := installFrontProxyHealth(generic, c.generic.Authentication.RequestHeaderConfig); err != nil {
		return nil, err
	}
	installMetrics(generic.Handler.NonGoRestfulMux,
		append(c.extra.Metrics, certificateMetrics(c.generic.SecureServing.Cert))...)

	server := &Server{GenericAPIServer: generic}
	if server.certificate, err = installCertificateKeeper(generic); err != nil {
		return nil, err
	}
	if c.extra.RunControllers != nil {
		server.controllers = newControllers(c.extra.RunControllers)
		if err := server.controllers.install(generic); err != nil {
			return nil, err
		}
	}
	return server, nil
}

// Run serves until the context ends, and then stops in this order: the controllers stop while the API still serves
// them; the API takes no new requests and finishes those under way; the listener closes. Then it returns nil. If the
// controllers end by themselves, the server stops in the same order and Run returns their error.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if s.controllers != nil {
		s.controllers.onFailure(stop)
	}
	s.certificate.prepare(ctx)
	defer s.certificate.wait()
	if err := s.GenericAPIServer.PrepareRun().RunWithContext(ctx); err != nil {
		return fmt.Errorf("running the API server: %w", err)
	}
	if s.controllers != nil {
		return s.controllers.failure()
	}
	return nil
}

const metricsPath = "/metrics"

// installMetrics serves further metrics in addition to the metrics of the generic server. The server's own handler
// serves only its registry.
func installMetrics(mux *mux.PathRecorderMux, further ...prometheus.Gatherer) {
	mux.Unregister(metricsPath)
	all := append(prometheus.Gatherers{legacyregistry.DefaultGatherer}, further...)
	mux.Handle(metricsPath, promhttp.HandlerFor(all,
		promhttp.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()}))
}

// endWatches ends the watches of the API when the host routes the API elsewhere: to the CustomResourceDefinitions,
// after a migration back to them. The host would keep them connected to this server, and their clients would miss
// changes for up to an hour. Watches of this server itself continue.
func endWatches(next http.Handler, leading func() context.Context) http.Handler {
	if leading == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, found := request.RequestInfoFrom(r.Context())
		who, known := request.UserFrom(r.Context())
		if !found || info.Verb != "watch" || info.APIGroup != v1alpha1.GroupName || known &&
			who.GetName() == user.APIServerUser {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(leading(), cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// spreadConnections asks the client of a request over HTTP/1.1 to open another connection, possibly to another server,
// for its next request: with the given chance, and always once stopping is closed. Clients thus leave a stopping server
// before it closes its connections.
//
// The library does this for HTTP/2, but loses requests: a GOAWAY frame may cross requests in flight. kube-apiserver
// cannot repeat a request whose body it has forwarded, and answers 503, see
// https://github.com/kubernetes/kubernetes/issues/135285. On a connection of HTTP/1.1, no other request is in flight
// when an answer closes it.
func spreadConnections(next http.Handler, chance float64, stopping <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (isClosed(stopping) || rand.Float64() < chance) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
