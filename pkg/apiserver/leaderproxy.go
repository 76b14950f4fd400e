// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/transport"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Leader tells which process runs the controllers.
type Leader interface {
	// Leads reports whether this process does.
	Leads() bool
	// Address returns where the process that does serves the API, and a context that ends when it no longer does. It
	// is empty if none is known, or if this process does.
	Address() (address string, leads context.Context)
}

// LeaderProxy passes requests for what controllers have in memory on to the process that runs them. A nil one passes
// nothing on.
//
// The user of a request has been authenticated and authorized by then. The leader authorizes the same user again: it
// takes the name from the headers that a front proxy sets, if the request comes from another replica.
type LeaderProxy struct {
	Leader Leader
	Trust  *Trust
	// User returns the user that all replicas are at the host.
	User func(ctx context.Context) (string, error)
}

// Close closes the connections that are not in use.
func (p *LeaderProxy) Close() {
	if p != nil {
		p.Trust.Close()
	}
}

// passedOnHeader marks a request that a replica passes on. It is not passed on again.
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

// applyTo has a server take the user of a request that a replica passes on from its headers.
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
			return nil, false, fmt.Errorf("finding out as whom the replicas act: %w", err)
		}
		if sender := found.User.GetName(); sender != replica {
			return nil, false, fmt.Errorf("user %q passes on a request of another user, which only the replicas may, who are user %q", sender, replica)
		}
		return named.AuthenticateRequest(r)
	}
	config.Authentication.Authenticator = authenticator.RequestFunc(authenticate)
	return nil
}

// wrap returns a handler that answers what this process can answer, and passes the rest on.
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

// pass passes a request on. It returns why it could not, if nothing has been answered.
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
				return errors.New("it does not accept this replica, whose log and its own say why")
			}
			return nil
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // ErrorHandler reports errors to the client
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, why error) {
			if cause := context.Cause(ctx); cause != nil {
				why = cause
			}
			err = fmt.Errorf("passing the request on to the server that runs the controllers: %w", why)
		},
	}
	flowcontrol.RequestDelegated(r.Context()) // a watch would keep its seat as long as it lasts
	proxy.ServeHTTP(w, r.WithContext(ctx))
	return err
}
