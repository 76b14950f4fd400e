// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ownPrefix begins the paths of requests to our own API.
const ownPrefix = "/own"

// Script is what one process meets.
type Script struct {
	// Name is the user agent of the process in the host's audit log.
	Name string
	// Do returns what becomes of a request. Nil, and the Action nil, let requests pass.
	Do func(Request) Action
	// Gates are those of watches.
	Gates []*Gate
	// Lag is nil if the host has streaming lists.
	Lag *Lag
}

// Upstream is how the two API servers are reached.
type Upstream struct {
	URL string
	// Host and Own are authenticated as the user that the process is at the host, and as the user
	// that it is at its own API.
	Host, Own http.RoundTripper
}

// NewUpstream returns how to reach the API servers, with configurations for the two users.
func NewUpstream(host, own *rest.Config) (*Upstream, error) {
	upstream := &Upstream{URL: host.Host}
	for _, to := range []struct {
		config *rest.Config
		into   *http.RoundTripper
	}{{host, &upstream.Host}, {own, &upstream.Own}} {
		config := rest.CopyConfig(to.config)
		config.DisableCompression = true // bodies are cut in the middle, and read line by line
		transport, err := rest.TransportFor(config)
		if err != nil {
			return nil, fmt.Errorf("connect to the host: %w", err)
		}
		*to.into = transport
	}
	return upstream, nil
}

// Proxy serves one process on a port of loopback.
type Proxy struct {
	upstream *Upstream
	script   Script
	url      string
	server   *http.Server
	// client is what the process connects with.
	client *http.Transport
	// alive ends when the process is cut off.
	alive context.Context
	cut   context.CancelFunc
	// handlers counts the requests that are under way.
	handlers sync.WaitGroup

	mu      sync.Mutex
	writes  int
	journal []string
}

// Start starts a proxy with a script.
func Start(upstream *Upstream, script Script) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{
		upstream: upstream, script: script, url: "http://" + listener.Addr().String(),
		client: &http.Transport{MaxIdleConnsPerHost: 100},
	}
	p.alive, p.cut = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	p.handlers.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Host is the configuration for the host that the process under test runs with.
func (p *Proxy) Host() *rest.Config {
	return &rest.Config{Host: p.url, Transport: p.transport(), QPS: -1}
}

// Own is the configuration for our own API.
func (p *Proxy) Own() *rest.Config {
	return &rest.Config{Host: p.url + ownPrefix, Transport: p.transport(), QPS: -1}
}

// transport connects the process with the proxy while it lives. What is left of a process that was
// cut off is answered at once: it would repeat requests, and end only after seconds.
func (p *Proxy) transport() http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if p.alive.Err() == nil {
			return p.client.RoundTrip(request)
		}
		return &http.Response{
			StatusCode: http.StatusGone, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone","message":"the process is dead"}`)),
		}, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Cut cuts the process off, as its death does: all connections end, and no request reaches an API
// server any more. What the host has already been sent may still take effect.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut()
	p.mu.Unlock()
	_ = p.server.Close()
}

// Close cuts the process off and waits until the host has answered the requests that it was sent.
func (p *Proxy) Close() {
	p.Cut()
	p.handlers.Wait()
	p.client.CloseIdleConnections()
}

// Writes is the number of writes so far.
func (p *Proxy) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// Journal returns what happened, in lines: writes, and requests that did not just pass.
func (p *Proxy) Journal() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.journal...)
}

func (p *Proxy) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.journal = append(p.journal, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// enter counts a request as under way, unless the process is cut off.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive.Err() != nil {
		return false
	}
	p.handlers.Add(1)
	return true
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		abort()
	}
	defer p.handlers.Done()
	path, own := strings.CutPrefix(r.URL.Path, ownPrefix)
	r.URL.Path = path
	request, err := read(r, own)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || p.alive.Err() != nil {
		abort()
	}
	if request.Counts() {
		p.mu.Lock()
		p.writes++
		request.Write = p.writes
		p.mu.Unlock()
	}
	x := &Exchange{Request: request, proxy: p, w: w, r: r, body: body}
	if p.script.Lag != nil && p.script.Lag.serve(x) {
		return
	}
	action := Pass()
	if p.script.Do != nil {
		if scripted := p.script.Do(request); scripted != nil {
			p.note("%s: a fault", request)
			action = scripted
		}
	}
	action(x)
}

// abort closes the connection without an answer, or in the middle of one.
func abort() { panic(http.ErrAbortHandler) }

// Exchange is a request with its answer.
type Exchange struct {
	Request
	proxy *Proxy
	w     http.ResponseWriter
	r     *http.Request
	body  []byte
}

// send sends the request on. A write that was sent is not taken back when the process goes.
func (x *Exchange) send(ctx context.Context) (*http.Response, error) {
	if x.proxy.alive.Err() != nil {
		abort()
	}
	request, err := http.NewRequestWithContext(ctx, x.r.Method, x.proxy.upstream.URL+x.r.URL.RequestURI(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	request.Header = x.r.Header.Clone()
	request.Header.Del("Accept-Encoding")
	request.Header.Set("User-Agent", x.proxy.script.Name)
	transport := x.proxy.upstream.Host
	if x.Own {
		transport = x.proxy.upstream.Own
	}
	return transport.RoundTrip(request)
}

// answer is a whole answer of the host.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// ask sends a request that does not stream on, and returns the whole answer.
func (x *Exchange) ask() answer {
	ctx := x.r.Context()
	if x.Write > 0 {
		ctx = context.WithoutCancel(ctx)
	}
	response, err := x.send(ctx)
	if err != nil {
		x.proxy.note("%s: the cluster does not answer: %v", x.Request, err)
		abort()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		abort()
	}
	if x.Write > 0 || response.StatusCode >= http.StatusBadRequest {
		x.proxy.note("%s: %d", x.Request, response.StatusCode)
	}
	return answer{code: response.StatusCode, header: response.Header, body: body}
}

// reply passes an answer back, with only so many bytes of its body.
func (x *Exchange) reply(with answer, size int) {
	if x.proxy.alive.Err() != nil {
		abort()
	}
	for name, values := range with.header {
		x.w.Header()[name] = values
	}
	x.w.Header().Set("Content-Length", fmt.Sprint(len(with.body)))
	x.w.WriteHeader(with.code)
	_, _ = x.w.Write(with.body[:size])
}

// isStream reports whether the answer goes on until somebody ends it.
func (x *Exchange) isStream() bool { return x.Verb == "watch" }
