// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	writeHTTPS = " (the hook serves https at this address: write https in spec.hooks.sync.webhook.url)"
	writeHTTP  = " (the hook serves http at this address: write http in spec.hooks.sync.webhook.url)"
)

func TestAHookThatIsCalledWithTheWrongScheme(t *testing.T) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, text)
			_ = connection.Close()
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		scheme  string
		want    string
	}{
		"https, and Go refuses http": {
			answer(http.StatusBadRequest, "Client sent an HTTP request to an HTTPS server.\n"), "http",
			"unsupported status code: 400 body: Client sent an HTTP request to an HTTPS server. (200 is expected)",
		},
		"https, and the refusal is cut": {
			raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n" +
				"Client sent an HTTP request to an HTTPS server.\n"),
			"http",
			"unsupported status code: 400 body: Client sent an HTTP request to an HTTPS server. (200 is expected)",
		},
		"https, and it sends an alert": {
			raw("\x15\x03\x01\x00\x02\x02\x16"), "http",
			`http error: net/http: HTTP/1.x transport connection broken: ` +
				`malformed HTTP response "\x15\x03\x01\x00\x02\x02\x16"` + writeHTTPS,
		},
		"http": {answer(200, "{}"), "https", "http error: http: server gave HTTP response to HTTPS client" + writeHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			address := strings.Replace(serve(t, test.handler), "http", test.scheme, 1)
			_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
			if want := "sync hook failed: " + address + ": " + test.want; err == nil || err.Error() != want {
				t.Errorf("error is\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestAHookThatClosesTheConnectionMaySpeakHTTPS(t *testing.T) {
	const (
		either  = "the hook closed the connection before it answered: either it serves https at this address, so write https in spec.hooks.sync.webhook.url, or it has crashed, so see its log"
		crashed = "the hook closed the connection before it answered: it has probably crashed, so see its log"
	)
	for name, test := range map[string]struct {
		url     string
		err     error
		explain string
	}{
		"by a reset":            {"http://hooks.example:8080/", syscall.ECONNRESET, either},
		"at a port of https":    {"http://hooks.example:8443/", io.EOF, either},
		"at another port":       {"http://hooks.example:8080/", io.EOF, crashed},
		"called with https":     {"https://hooks.example/", syscall.ECONNRESET, crashed},
		"where it redirects to": {"http://other.example:443/", io.EOF, strings.Replace(either, "write https in spec.hooks.sync.webhook.url", "make the hook redirect to https://other.example:443", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			address := test.url
			if strings.Contains(address, "other") {
				address = "http://hooks.example"
			}
			got := webhook(t, address, "").address.hint(&url.Error{Op: "Post", URL: test.url, Err: test.err})
			if got != test.explain {
				t.Errorf("error is\n%s\nwant\n%s", got, test.explain)
			}
		})
	}
}

func TestTheFieldOfTheScheme(t *testing.T) {
	service := &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools"}
	for want, spec := range map[string]v1alpha1.Webhook{
		"spec.hooks.sync.webhook.url":              {URL: ptr.To("http://hooks.example"), Service: service},
		"spec.hooks.sync.webhook.service.protocol": {Service: service, URL: ptr.To("")},
	} {
		if got := addressOf(Sync, &spec, nil).schemeField; got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
}

// Go says what is wrong, and the hint names the field to set.
func TestAHookWhoseCertificateIsNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(answer(200, "{}"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // what it thinks of refused handshakes
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := webhook(t, server.URL, "").SyncComposite(t.Context(), snapshot(t))
	want := "sync hook failed: " + server.URL + ": http error: tls: failed to verify certificate: " +
		"x509: certificate signed by unknown authority " +
		`(put the certificate of the authority, "O=Acme Co", that signed the hook's certificate into ` +
		"spec.hooks.sync.webhook.caBundle.inline)"
	if err == nil || err.Error() != want || errors.Is(err, ErrMalformed) {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestAHookThatCannotBeReached(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "hooks.example", Server: "10.0.0.10:53", IsNotFound: true}}
	byURL := v1alpha1.Webhook{URL: ptr.To("http://hooks.example:8080/sync")}
	byService := v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "tools", Port: ptr.To(int32(80))}, Path: ptr.To("/sync")}
	for name, test := range map[string]struct {
		spec v1alpha1.Webhook
		at   string
		err  error
		want string
	}{
		"nothing listens": {
			byURL, "http://hooks.example:8080/sync", refused,
			"no process listens at hooks.example:8080: correct host and port in spec.hooks.sync.webhook.url, or start the hook",
		},
		"nothing listens at the port of a Service": {
			byService, "http://hooks.tools:80/sync", refused,
			"no process listens at hooks.tools:80: correct host and port in spec.hooks.sync.webhook.service, or start the hook",
		},
		"nothing listens where it redirects to": {
			byURL, "https://other.example/", refused,
			"no process listens at other.example:443: correct host and port in the redirect of the hook, or start the hook",
		},
		"its name is unknown": {
			byURL, "http://hooks.example:8080/sync", unknown,
			`the server cannot resolve the host "hooks.example": correct it in spec.hooks.sync.webhook.url if it is misspelled, or create its Service or DNS name`,
		},
		"a name server does not answer":     {byURL, "http://hooks.example:8080/sync", &net.DNSError{Err: "server misbehaving", Name: "hooks.example"}, ""},
		"nothing listens where a proxy was": {byURL, "http://hooks.example:8080/sync", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hook, err := New(Sync, &v1alpha1.Hook{Webhook: &test.spec}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer hook.Close()
			if got := hook.address.hint(&url.Error{Op: "Post", URL: test.at, Err: test.err}); got != test.want {
				t.Errorf("error is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A hook that has crashed says why in its log, and nowhere else.
func TestAHookThatClosesTheConnectionHasProbablyCrashed(t *testing.T) {
	closing := func(written string, reset bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, written)
			if reset {
				_ = connection.(*net.TCPConn).SetLinger(0)
			}
			_ = connection.Close()
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"before it answers":        closing("", false),
		"within its answer":        closing("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", false),
		"by a reset in the answer": closing("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", true),
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, handler)
			_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
			const want = "so see its log)"
			if err == nil || !strings.HasPrefix(err.Error(), "sync hook failed: "+address+": http error: ") ||
				!strings.HasSuffix(err.Error(), want) {
				t.Errorf("error is\n%v\nwant it to end with\n%s", err, want)
			}
			if strings.Contains(err.Error(), "->") {
				t.Errorf("error is\n%v\nwith the port of our side, which differs from call to call", err)
			}
		})
	}
}

func TestAHookThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
	at := strings.TrimPrefix(address, "http://")
	want := "sync hook failed: " + address + ": http error: dial tcp " + at + ": connect: connection refused " +
		"(no process listens at " + at + ": correct host and port in spec.hooks.sync.webhook.url, or start the hook)"
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}
