// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// noListener is the address that turns a listener off, as in Metacontroller.
const noListener = "0"

// plainHeaderTimeout bounds how long a client of a plain listener may take to send its headers.
const plainHeaderTimeout = 10 * time.Second

// PlainHTTPOptions are the addresses of listeners without TLS and authentication, for scrapers and
// probes that were made for Metacontroller. The secure port serves the same. By default they are
// off, "0".
type PlainHTTPOptions struct {
	Metrics, Health, Profiles string
}

// NewPlainHTTPOptions returns the defaults.
func NewPlainHTTPOptions() *PlainHTTPOptions {
	return &PlainHTTPOptions{Metrics: noListener, Health: noListener, Profiles: noListener}
}

// The flags of the addresses.
const (
	metricsAddressFlag  = "metrics-address"
	healthAddressFlag   = "health-probe-bind-address"
	profilesAddressFlag = "pprof-address"
)

func (o *PlainHTTPOptions) addFlags(flags *pflag.FlagSet) {
	const where = " over plain HTTP, to everyone, at this address (host:port). \"0\" disables it. " +
		"The secure port serves the same"
	flags.StringVar(&o.Metrics, metricsAddressFlag, o.Metrics, "Serve /metrics"+where+", to authorized users only.")
	flags.StringVar(&o.Health, healthAddressFlag, o.Health, "Serve /healthz, /livez and /readyz"+where+".")
	flags.StringVar(&o.Profiles, profilesAddressFlag, o.Profiles, "Serve profiles of the process under /debug/pprof"+where+
		" with --profiling, to authorized users only.")
}

// plainListener is a listener that is on.
type plainListener struct {
	flag, address string
	// paths are the paths of the server that it serves. A listener without paths serves profiles.
	paths []string
}

func (o *PlainHTTPOptions) listeners() []plainListener {
	all := []plainListener{
		{metricsAddressFlag, o.Metrics, []string{"/metrics"}},
		{healthAddressFlag, o.Health, []string{"/healthz", "/healthz/", "/livez", "/livez/", "/readyz", "/readyz/"}},
		{profilesAddressFlag, o.Profiles, nil},
	}
	return slices.DeleteFunc(all, func(l plainListener) bool { return l.address == noListener })
}

// handler returns the handler of the listener, which serves some paths of the server.
func (l plainListener) handler(server http.Handler) http.Handler {
	if l.paths == nil {
		return profiles()
	}
	mux := http.NewServeMux()
	for _, path := range l.paths {
		mux.Handle(path, server)
	}
	return mux
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func (o *PlainHTTPOptions) validate() []error {
	var errs []error
	for _, listener := range o.listeners() {
		if _, _, err := net.SplitHostPort(listener.address); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w; it must be host:port, :port, or 0 for none", listener.flag, err))
		}
	}
	return errs
}

// listen starts the listeners. They serve until stop is called.
func (o *PlainHTTPOptions) listen(ctx context.Context, server http.Handler) (stop func(), err error) {
	var servers []*http.Server
	var serving sync.WaitGroup
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
		serving.Wait()
	}
	for _, plain := range o.listeners() {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", plain.address)
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s: %w", plain.flag, err)
		}
		plainServer := &http.Server{Handler: plain.handler(server), ReadHeaderTimeout: plainHeaderTimeout}
		servers = append(servers, plainServer)
		serving.Go(func() {
			if err := plainServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				klog.FromContext(ctx).Error(err, "Plain listener ended", "flag", plain.flag, "address", plain.address)
			}
		})
	}
	return stop, nil
}
