// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Options are common to all transports of a process.
type Options struct {
	// MaxIdleConnections bounds the connections that a transport keeps open between calls.
	MaxIdleConnections int
	// Denied are the networks that no connection leads to, whatever a name resolves to or a redirect points at.
	Denied hookaddress.Denied
	// Sources reads Secrets and ConfigMaps.
	Sources Sources
}

// Transport is the http.RoundTripper of one hook. It has the certificate authorities that verify
// the hook and the credentials for the hook. It follows the Secrets and ConfigMaps that hold them: a
// call uses their content at the time when it begins. While that is unusable, calls use the last
// usable content.
type Transport struct {
	settings settings
	options  Options
	// dialed is the host to which connections to host, the host of the hook, are made.
	host, dialed string
	// stops stop following the sources.
	stops []func()

	mu      sync.Mutex
	sources map[Source]*object.Object
	// credentials are what the settings resolve to, and shared is the transport that calls use.
	// Both are nil until the settings have been read.
	credentials *credentials
	shared      *sharedTransport
	// report is called when the sources become unusable or usable again. reported is the message of the error that it was
	// last called with.
	report   func(error)
	reported string
}

// New returns the transport for the hook of that name, which calls target. The caller must close the transport and, if
// the webhook or its endpoint config has settings, open it before using it.
func New(
	hook string, webhook *v1alpha1.Webhook, target *url.URL, endpoints []v1alpha1.EndpointConfig, options Options,
) *Transport {
	t := newTransport(settingsOf(hook, webhook, target, endpoints), options)
	t.dialAs(target.Hostname(), webhook.Address().DialedHost())
	return t
}

// dialAs makes connections to a host dial another name of it.
func (t *Transport) dialAs(host, dialed string) {
	t.host, t.dialed = host, dialed
	if t.shared != nil {
		t.shared.transport.host, t.shared.transport.dialed = host, dialed
	}
}

func newTransport(settings settings, options Options) *Transport {
	t := &Transport{settings: settings, options: options, sources: map[Source]*object.Object{}}
	if settings.empty() {
		t.use(&credentials{})
	}
	return t
}

// Open reads the settings and begins to follow their sources. It returns a *SourceError if a source
// is unusable. Later, it calls report with an error when a source becomes unusable, and with nil
// when all are usable again.
func (t *Transport) Open(ctx context.Context, report func(error)) error {
	if t.settings.empty() {
		return nil
	}
	_, err := t.settings.resolve(func(source Source) (*object.Object, error) { return t.follow(ctx, source) })
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = report
	if err := t.renew(); err != nil {
		return err
	}
	if empty := t.credentials.empty; empty != nil {
		klog.FromContext(ctx).Info("Calling a hook with an empty credential", "reason", empty.Error())
	}
	return nil
}

// Close stops following the sources and closes idle connections.
func (t *Transport) Close() {
	for _, stop := range t.stops {
		stop()
	}
	t.stops = nil
	t.CloseIdle()
}

// CloseIdle closes idle connections.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		t.shared.transport.CloseIdleConnections()
	}
}

// Authorize puts the credential into a request. net/http removes it when a redirect leads to another host, and
// Redirects removes it when one leads from https to http. Authorize returns the parts of the credential that must be
// redacted; they are not empty.
func (t *Transport) Authorize(request *http.Request) (secrets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.credentials == nil {
		return nil
	}
	if t.credentials.authorization != "" {
		request.Header.Set("Authorization", t.credentials.authorization)
	}
	return t.credentials.secrets
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	shared := t.acquire()
	if shared == nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errors.New("the hook's credentials have not been read")
	}
	response, err := shared.transport.RoundTrip(request)
	if err != nil {
		t.release(shared)
		return nil, err
	}
	response.Body = &countedBody{ReadCloser: response.Body, release: sync.OnceFunc(func() { t.release(shared) })}
	return response, nil
}

// countedBody is the body of a response. The call ends when the body is closed.
type countedBody struct {
	io.ReadCloser
	release func()
}

func (b *countedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// acquire returns the shared transport for one more call; nil if the settings have not been read.
func (t *Transport) acquire() *sharedTransport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		t.shared.calls++
	}
	return t.shared
}

// release ends a call.
func (t *Transport) release(shared *sharedTransport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shared.calls--
	if shared.retired && shared.calls == 0 {
		shared.transport.CloseIdleConnections()
	}
}

// follow keeps a source up to date from now on and returns it.
func (t *Transport) follow(ctx context.Context, source Source) (*object.Object, error) {
	if found, err := t.known(source); err == nil {
		return found, nil
	}
	changed := func(now *object.Object) { t.changed(source, now) }
	stop, err := t.options.Sources.Follow(ctx, source.Type, source.Name, changed)
	if err != nil {
		return nil, err
	}
	t.stops = append(t.stops, stop)
	return t.known(source)
}

func (t *Transport) known(source Source) (*object.Object, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last(source)
}

// last returns the last known state of a source; nil if it does not exist.
func (t *Transport) last(source Source) (*object.Object, error) {
	found, followed := t.sources[source]
	if !followed {
		return nil, errors.New("the server does not watch it")
	}
	return found, nil
}

// changed records the new state of a source, and makes calls use it if it is usable.
func (t *Transport) changed(source Source, now *object.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sources[source] = now
	if t.shared == nil {
		return // the transport is being opened
	}
	err, message := t.renew(), ""
	if err != nil {
		message = err.Error()
	}
	if message != t.reported {
		t.reported = message
		t.report(err)
	}
}

// renew makes calls use the current content of the sources. A credential that becomes empty later counts as unusable:
// it is more likely a mistake in a rotation than intended.
func (t *Transport) renew() error {
	next, err := t.settings.resolve(t.last)
	if err != nil {
		return err
	}
	if t.credentials != nil && t.credentials.empty == nil && next.empty != nil {
		return next.empty
	}
	t.use(next)
	return nil
}

// use makes calls use the credentials from now on. Calls in flight keep their connections.
func (t *Transport) use(next *credentials) {
	t.credentials = next
	old := t.shared
	if old != nil && old.sameTLS(next) {
		return
	}
	t.shared = newSharedTransport(next, t.options)
	t.shared.transport.host, t.shared.transport.dialed = t.host, t.dialed
	if old != nil {
		old.retired = true
		old.transport.CloseIdleConnections()
	}
}

// sharedTransport has the connections with the same TLS settings. All calls share it until the TLS
// settings change. Then it is retired: its connections are closed when the last of its calls has
// ended.
type sharedTransport struct {
	*credentials
	transport *denyingTransport
	// calls is the number of calls in flight.
	calls   int
	retired bool
}

// maxHeaderBytes limits the headers of an answer.
const maxHeaderBytes = 64 << 10

// newSharedTransport returns a transport with Go's default settings, except for those that the credentials and the
// options set.
func newSharedTransport(credentials *credentials, options Options) *sharedTransport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A request with several children, or its answer, fits into one buffer. Go's default is 4 KiB.
	transport.WriteBufferSize, transport.ReadBufferSize = 32<<10, 16<<10
	transport.MaxIdleConns = options.MaxIdleConnections
	transport.MaxIdleConnsPerHost = options.MaxIdleConnections
	transport.MaxResponseHeaderBytes = maxHeaderBytes
	transport.TLSClientConfig = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      credentials.roots,
		Certificates: credentials.certificates,
	}
	return &sharedTransport{credentials: credentials, transport: newDenyingTransport(transport, options.Denied)}
}
