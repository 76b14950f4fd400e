// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"

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
		return nil, fmt.Errorf("making the storage of %s: %w", provider.GroupName(), err)
	}
	// Discovery and errors are served as the group is: as JSON and YAML, without protobuf.
	c.generic.Serializer = group.NegotiatedSerializer

	generic, err := c.generic.New(Name, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("making the API server: %w", err)
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
	installMetrics(generic.Handler.NonGoRestfulMux, append(c.extra.Metrics, certificateMetrics(c.generic.SecureServing.Cert))...)

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

// Run serves until the context ends, and then stops in this order: the controllers stop while the
// API still answers them; the API takes no new requests and finishes those under way; the listener
// closes. Then it returns nil. If the controllers end by themselves, the server stops in the same
// order and Run returns their error.
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
