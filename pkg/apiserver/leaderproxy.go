// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Leader reports which process runs the controllers.
type Leader interface {
	// Leads reports whether this process runs the controllers.
	Leads() bool
	// Address returns the address at which the leader serves the API, and a context that ends when it stops leading. The
	// address is empty if the leader is not known, or is this process.
	Address() (address string, leads context.Context)
}

// LeaderProxy forwards requests for objects in the memory of the controllers to the process that runs them. A nil proxy
// forwards nothing.
//
// It forwards a request after the user has been authenticated and authorized. The leader authorizes the same user
// again: if the request comes from another replica, it takes the name from the headers that a front proxy sets.
type LeaderProxy struct {
	Leader Leader
	Trust  *Trust
	// User returns the user as which all replicas authenticate to the host.
	User func(ctx context.Context) (string, error)
}

// Close closes the connections that are not in use.
func (p *LeaderProxy) Close() {
	if p != nil {
		p.Trust.Close()
	}
}

// passedOnHeader marks a request that a replica has forwarded. It is not forwarded again.
const passedOnHeader = "Metacontroller-Passed-On"

func isPassedOn(r *http.Request) bool { return r.Header.Get(passedOnHeader) != "" }

// isForLeader reports whether only the process that runs the controllers can answer a request.
func isForLeader(r *http.Request) bool {
	of, ok := request.RequestInfoFrom(r.Context())
	if !ok || !of.IsResourceRequest || of.APIGroup != v1alpha1.GroupName {
		return false
	}
	switch of.Resource + "/" + of.Subresource {
	case "syncs/", "hookcalls/":
		return of.Verb == "get" || of.Verb == "list" || of.Verb == "watch"
	case "syncreviews/", "compositecontrollers/resync", "decoratorcontrollers/resync":
		return of.Verb == "create"
	}
	return false
}

// applyTo makes a server take the user of a forwarded request from its headers.
func (p *LeaderProxy) applyTo(config *genericapiserver.Config) error {
	if p == nil || config.Authentication.Authenticator == nil {
		return nil
	}
	named, err := headerrequest.New([]string{"X-Remote-User"}, []string{"X-Remote-Uid"},
		[]string{"X-Remote-Group"}, []string{"X-Remote-Extra-"})
	if err != nil {
		return err
	}
	sender := config.Authentication.Authenticator
	authenticate := func(r *http.Request) (*authenticator.Response, bool, error) {
		found, ok, err := sender.AuthenticateRequest(r)
		if !ok || err != nil || !isPassedOn(r) || !isForLeader(r) {
			return found, ok, err
		}
		replica, err := p.User(r.Context())
		if err != nil {
			return nil, false, fmt.Errorf("finding the user that the replicas act as: %w", err)
		}
		if sender := found.User.GetName(); sender != replica {
			return nil, false, fmt.Errorf("user %q must not forward requests of other users: only the replicas may forward "+
				"them, as user %q", sender, replica)
		}
		return named.AuthenticateRequest(r)
	}
	config.Authentication.Authenticator = authenticator.RequestFunc(authenticate)
	return nil
}

// wrap returns a handler that forwards the requests that this process cannot answer.
func (p *LeaderProxy) wrap(next http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isForLeader(r) || p.Leader.Leads() {
			next.ServeHTTP(w, r)
			return
		}
		err := errNoLeader
		if address, leads := p.Leader.Address(); address != "" && !isPassedOn(r) {
			err = p.pass(w, r, address, leads)
		}
		if err != nil {
			unavailable := apierrors.NewServiceUnavailable(err.Error())
			unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
			responsewriters.ErrorNegotiated(unavailable, serializer, v1alpha1.SchemeGroupVersion, w, r)
		}
	})
}

var errNoLeader = errors.New("no server runs the controllers at the moment; try again in a few seconds")

// pass forwards a request. It returns an error if it could not, and nothing has been answered.
func (p *LeaderProxy) pass(w http.ResponseWriter, r *http.Request, address string, leads context.Context) (err error) {
	user, ok := request.UserFrom(r.Context())
	if !ok {
		return errors.New("the user of the request is not known")
	}
	through, err := p.Trust.Connect(r.Context())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(leads, func() { cancel(errNoLeader) })() // it may be stopped, and keep its connections
	proxy := &httputil.ReverseProxy{
		Rewrite: func(of *httputil.ProxyRequest) {
			of.Out.URL.Scheme, of.Out.URL.Host, of.Out.Host = "https", address, ""
			of.Out.Header.Del("Authorization")
			transport.SetAuthProxyHeaders(of.Out, user.GetName(), user.GetUID(), user.GetGroups(), user.GetExtra())
			of.Out.Header.Set(passedOnHeader, "true")
		},
		Transport: through,
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode == http.StatusUnauthorized { // which is about this replica, not about the user
				return errors.New("it rejected this replica: see the logs of both")
			}
			return nil
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // ErrorHandler reports errors to the client
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, why error) {
			if cause := context.Cause(ctx); cause != nil {
				why = cause
			}
			err = fmt.Errorf("forwarding the request to the server that runs the controllers: %w", why)
		},
	}
	flowcontrol.RequestDelegated(r.Context()) // a watch would keep its seat as long as it lasts
	proxy.ServeHTTP(w, r.WithContext(ctx))
	return err
}

const (
	// trustTimeout bounds a request for the APIService.
	trustTimeout = 5 * time.Second
	// dialTimeout bounds the attempt to connect to another replica, whose machine may be gone.
	dialTimeout = 3 * time.Second
)

// Trust connects to other replicas. A replica trusts another one as the cluster does: by the caBundle of the APIService
// and the name of the Service. It authenticates with its credentials for the cluster.
type Trust struct {
	// host is the configuration of the cluster, with the credentials of this process.
	host   *rest.Config
	client rest.Interface
	// apiService is the name of the APIService of the server.
	apiService string

	mu sync.Mutex
	// last is the last transport, and trusts identifies the authority that it trusts.
	last   http.RoundTripper
	trusts string
}

// NewTrust returns a Trust in the replicas that the cluster trusts according to its APIService, which client may read.
func NewTrust(host *rest.Config, client rest.Interface, apiService string) *Trust {
	return &Trust{host: host, client: client, apiService: apiService}
}

// trustedService is the part of an APIService that says which servers the cluster trusts.
type trustedService struct {
	Spec struct {
		CABundle              []byte `json:"caBundle"`
		InsecureSkipTLSVerify bool   `json:"insecureSkipTLSVerify"`
		Service               *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"spec"`
}

// Connect returns a transport. It reuses the last one while the APIService names the same server and authority.
func (t *Trust) Connect(ctx context.Context) (http.RoundTripper, error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	raw, err := t.client.Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", t.apiService).SetHeader("Accept",
		"application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority that the cluster uses to verify the replicas: %w", err)
	}
	config, err := t.config(raw)
	if err != nil {
		return nil, fmt.Errorf("APIService %s: %w", t.apiService, err)
	}
	return t.transportFor(config)
}

func (t *Trust) transportFor(config *rest.Config) (http.RoundTripper, error) {
	trusts := config.ServerName + "\n" + string(config.CAData)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && t.trusts == trusts {
		return t.last, nil
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	t.closeIdle()
	t.last, t.trusts = transport, trusts
	return transport, nil
}

// Close closes the connections that are not in use.
func (t *Trust) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeIdle()
}

func (t *Trust) closeIdle() {
	if t.last != nil {
		utilnet.CloseIdleConnectionsFor(t.last)
	}
}

// config returns a configuration with the credentials of this process and the authority of an APIService. It never
// sends credentials to an untrusted server.
func (t *Trust) config(raw []byte) (*rest.Config, error) {
	var service trustedService
	if err := json.Unmarshal(raw, &service); err != nil {
		return nil, err
	}
	switch {
	case service.Spec.Service == nil:
		return nil, errors.New("it has no spec.service")
	case service.Spec.InsecureSkipTLSVerify:
		return nil, errors.New("it sets insecureSkipTLSVerify, so the replicas cannot trust one another: set its " +
			"caBundle, or use --certificate-secret")
	}
	config := rest.CopyConfig(t.host)
	config.CAFile, config.CAData = "", service.Spec.CABundle
	config.Insecure = false
	config.ServerName = service.Spec.Service.Name + "." + service.Spec.Service.Namespace + ".svc"
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, 0
	config.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // replicas are not out in the world
	return config, nil
}
