// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// secure is a hook behind TLS.
type secure struct {
	*httptest.Server
	// config is the configuration of the next handshake.
	config atomic.Pointer[tls.Config]
	// peers are the addresses that calls came from.
	mu    sync.Mutex
	peers []string
}

// serveTLS starts a hook that answers with an empty object, or as the handler says.
func serveTLS(t *testing.T, config *tls.Config, handler http.HandlerFunc) *secure {
	t.Helper()
	s := newSecure(t, config, handler)
	s.StartTLS()
	return s
}

// newSecure returns a hook that is not started yet.
func newSecure(t *testing.T, config *tls.Config, handler http.HandlerFunc) *secure {
	t.Helper()
	s := &secure{}
	s.config.Store(config)
	if handler == nil {
		handler = answer(200, "{}")
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.peers = append(s.peers, r.RemoteAddr)
		s.mu.Unlock()
		handler(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // what it thinks of refused handshakes
	s.TLS = &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.config.Load(), nil },
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// patientListener is for a server that answers before it has read the whole request. If the server
// closed the connection then, the rest of the request would reset it, and the caller could lose the
// answer.
type patientListener struct{ net.Listener }

func (l patientListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return patientConn{accepted.(*net.TCPConn)}, nil
}

type patientConn struct{ *net.TCPConn }

// Close announces that nothing more is sent, and closes the connection after the caller has.
func (c patientConn) Close() error {
	if err := c.CloseWrite(); err == nil {
		_, _ = io.Copy(io.Discard, c.TCPConn)
	}
	return c.TCPConn.Close()
}

// callers returns the addresses that calls came from, each once.
func (s *secure) callers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	callers := slices.Clone(s.peers)
	slices.Sort(callers)
	return slices.Compact(callers)
}

// serve starts a hook. Handlers that block end with the test.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// answer answers with a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// caller calls a hook over its transport.
type caller struct {
	*Transport
	url string
}

// callerOf returns a caller of a sync hook, whose transport is not open yet.
func callerOf(t *testing.T, spec *v1alpha1.Webhook, options Options) *caller {
	t.Helper()
	target, err := url.Parse(*spec.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{New("sync", spec, target, nil, options), *spec.URL}
	t.Cleanup(c.Close)
	return c
}

// connected returns a caller of a sync hook whose settings have been read.
func connected(t *testing.T, hosts *cluster, spec v1alpha1.Webhook, stale func(error)) *caller {
	t.Helper()
	c := callerOf(t, &spec, Options{MaxIdleConnections: 2, Sources: hosts})
	if stale == nil {
		stale = func(err error) { t.Errorf("told that credentials are stale: %v", err) }
	}
	if err := c.Open(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	return c
}

// call makes one call. Any status but 200 is an error, which quotes the answer without the credentials.
func (c *caller) call(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	secrets := c.Authorize(request)
	response, err := (&http.Client{Transport: c.Transport, CheckRedirect: AnyHost.Check}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		for _, secret := range secrets {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("xxxxx"))
		}
		err = fmt.Errorf("unsupported status code: %d body: %s", response.StatusCode, body)
	}
	return err
}

func ask(t *testing.T, hook *caller) error {
	t.Helper()
	return hook.call(t.Context())
}

func TestWhomAHookIsTrustedBy(t *testing.T) {
	ours, others := authority(t, "ours"), authority(t, "others")
	server := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ours)}}, nil)
	old := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ours)}, MaxVersion: tls.VersionTLS11}, nil)
	patient := newSecure(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ours)}}, nil)
	patient.Listener = patientListener{patient.Listener}
	patient.StartTLS()
	bundle := func(inline string) *v1alpha1.CABundle { return &v1alpha1.CABundle{Inline: &inline} }
	tests := map[string]struct {
		address string
		bundle  *v1alpha1.CABundle
		want    string
	}{
		"its authority":                {server.URL, bundle(string(ours.Cert)), ""},
		"its authority beside another": {server.URL, bundle(string(others.Cert) + string(ours.Cert)), ""},
		"another authority":            {server.URL, bundle(string(others.Cert)), "certificate signed by unknown authority"},
		"those of the system":          {server.URL, nil, "certificate signed by unknown authority"},
		"those of the system, said so": {server.URL, bundle(""), "certificate signed by unknown authority"},
		"its authority, by TLS 1.1":    {old.URL, bundle(string(ours.Cert)), "protocol version not supported"},
		"its authority, called by itself": {
			strings.Replace(patient.URL, "https:", "http:", 1), bundle(string(ours.Cert)), "unsupported status code: 400",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := ask(t, connected(t, newCluster(t), v1alpha1.Webhook{URL: &test.address, CABundle: test.bundle}, nil))
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error is %v, want one that says %s", err, test.want)
			}
		})
	}
}

func TestAHookThatHasNotReadItsCredentialsIsNotCalled(t *testing.T) {
	called := false
	address := serve(t, func(http.ResponseWriter, *http.Request) { called = true })
	made := callerOf(t, &v1alpha1.Webhook{URL: &address, Authorization: tokenInSecret("", "token")}, Options{})
	if err := ask(t, made); err == nil || !strings.Contains(err.Error(), "the hook's credentials have not been read") || called {
		t.Errorf("called %v, error %v", called, err)
	}
}

func TestAClientCertificateIsShown(t *testing.T) {
	ours, theirs := authority(t, "ours"), authority(t, "theirs")
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ours.Cert)
	users := make(chan string, 1)
	server := newSecure(t, &tls.Config{
		Certificates: []tls.Certificate{servingCertificate(t, ours)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	}, func(w http.ResponseWriter, r *http.Request) {
		users <- r.TLS.PeerCertificates[0].Subject.CommonName
		_, _ = io.WriteString(w, "{}")
	})
	server.Listener = patientListener{server.Listener} // it may refuse a caller before it has read the request
	server.StartTLS()
	refused := func(hook *caller, hint string) {
		t.Helper()
		err := ask(t, hook)
		if err == nil {
			t.Fatalf("it is called by %s", <-users)
		}
		if got := hook.TLSHint(err); !strings.HasPrefix(got, hint) {
			t.Errorf("the hint about %v is %q, want %q", err, got, hint)
		}
	}
	bundle := &v1alpha1.CABundle{Inline: ptr.To(string(ours.Cert))}
	certificate := secret("tools", "a")
	hosts := newCluster(t)
	pair := clientPair(t, ours, "first")
	hosts.put(certificate, map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)})
	hook := connected(t, hosts, v1alpha1.Webhook{URL: &server.URL, CABundle: bundle, ClientTLS: certificateInSecret("", "")}, nil)
	if err := ask(t, hook); err != nil {
		t.Fatal(err)
	}
	if user := <-users; user != "first" {
		t.Errorf("it is called by %s", user)
	}
	pair = clientPair(t, ours, "second")
	hosts.put(certificate, map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)})
	if err := ask(t, hook); err != nil {
		t.Fatal(err)
	}
	if user := <-users; user != "second" {
		t.Errorf("after the Secret has changed it is called by %s", user)
	}
	pair = clientPair(t, theirs, "third")
	hosts.put(certificate, map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)})
	refused(hook, "the hook rejects the client certificate of spec.hooks.sync.webhook.clientTLS")
	without := connected(t, hosts, v1alpha1.Webhook{URL: &server.URL, CABundle: bundle}, nil)
	refused(without, "the hook requires a client certificate")
}

// net/http removes the credentials from a request that is redirected to another host.
func TestCredentialsAreNotSentToAnotherHost(t *testing.T) {
	headers := make(chan string, 2)
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "{}")
	})
	// Both host names are of this machine.
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	tests := map[string]struct {
		target string
		want   string
	}{
		"another host":  {other + "/", ""},
		"the same host": {"/again", "Bearer s3cret"},
	}
	for name, test := range tests {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(name, " by ", status), func(t *testing.T) {
				address := serve(t, func(w http.ResponseWriter, r *http.Request) {
					header := r.Header.Get("Authorization")
					if r.URL.Path == "/again" {
						headers <- header
						_, _ = io.WriteString(w, "{}")
						return
					}
					if header != "Bearer s3cret" {
						t.Errorf("the first host is sent %q", header)
					}
					http.Redirect(w, r, test.target, status)
				})
				hosts := newCluster(t)
				hosts.put(secret("tools", "a"), map[string]string{"token": "s3cret"})
				hook := connected(t, hosts, v1alpha1.Webhook{URL: ptr.To(address + "/sync"), Authorization: tokenInSecret("", "token")}, nil)
				if err := ask(t, hook); err != nil {
					t.Fatal(err)
				}
				if got := <-headers; got != test.want {
					t.Errorf("%s is sent %q, want %q", name, got, test.want)
				}
			})
		}
	}
}

func TestCredentialsAreNotSentInPlainTextAfterARedirect(t *testing.T) {
	ours := authority(t, "ours")
	var again *secure
	headers := make(chan string, 2)
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Get("Authorization")
		if r.URL.Path == "/back" {
			http.Redirect(w, r, again.URL+"/end", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	again = serveTLS(t, &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, ours)}}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/plain", "/back":
			http.Redirect(w, r, plain+r.URL.Path, http.StatusTemporaryRedirect)
		case "/secure":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		default:
			headers <- r.Header.Get("Authorization")
			_, _ = io.WriteString(w, "{}")
		}
	})
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"to https":            {"/secure", []string{"Bearer s3cret"}},
		"to http":             {"/plain", []string{""}},
		"to http and back":    {"/back", []string{"", ""}},
		"without one, a call": {"/end", []string{"Bearer s3cret"}},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := newCluster(t)
			hosts.put(secret("tools", "a"), map[string]string{"token": "s3cret"})
			hook := connected(t, hosts, v1alpha1.Webhook{URL: ptr.To(again.URL + test.path), Authorization: tokenInSecret("", "token"),
				CABundle: &v1alpha1.CABundle{Inline: ptr.To(string(ours.Cert))}}, nil)
			if err := ask(t, hook); err != nil {
				t.Fatal(err)
			}
			for i, want := range test.want {
				if got := <-headers; got != want {
					t.Errorf("request %d is sent %q, want %q", i, got, want)
				}
			}
		})
	}
}

// throughProxy is set in the process that calls a hook through a proxy.
const throughProxy = "TEST_HOOK_THROUGH_PROXY"

// A process reads its environment only once, so the test runs another process.
func TestProxiesOfTheEnvironmentAreUsed(t *testing.T) {
	const hooks = "http://hooks.invalid/sync"
	if os.Getenv(throughProxy) != "" {
		if err := ask(t, callerOf(t, &v1alpha1.Webhook{URL: ptr.To(hooks)}, Options{MaxIdleConnections: 2})); err != nil {
			t.Error(err)
		}
		return
	}
	asked := make(chan string, 1)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String()
		_, _ = io.WriteString(w, "{}")
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), throughProxy+"=yes", "HTTP_PROXY="+proxy, "NO_PROXY=")
	if output, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if got := <-asked; got != "POST "+hooks {
		t.Errorf("the proxy was asked to %s", got)
	}
}
