// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

// address is the address of a hook, with the fields of the spec that it comes from.
type address struct {
	url *url.URL
	// field has the address, and schemeField its scheme.
	field, schemeField string
}

func addressOf(name string, spec *v1alpha1.Webhook, target *url.URL) address {
	field := fmt.Sprintf("spec.hooks.%s.webhook", name)
	if spec.URL != nil && *spec.URL != "" {
		return address{target, field + ".url", field + ".url"}
	}
	return address{target, field + ".service", field + ".service.protocol"}
}

// hint returns what to do about a request that got no response, as a text to add to the error. It is empty unless the
// error shows that the address is wrong, or that the hook closed the connection.
func (a *address) hint(err error) string {
	at := a.url
	if request, ok := errors.AsType[*url.Error](err); ok {
		if redirected, parseErr := url.Parse(request.URL); parseErr == nil {
			at = redirected
		}
		err = request.Err
	}
	if hint := a.unreachable(at, err); hint != "" {
		return hint
	}
	switch {
	case at.Scheme == "https" && isPlain(err):
		return "the hook serves http at this address: " + a.changeScheme(at, "http")
	case at.Scheme == "http" && strings.Contains(err.Error(), tlsAlert):
		return "the hook serves https at this address: " + a.changeScheme(at, "https")
	case at.Scheme == "http" && isClosed(err) &&
		(errors.Is(err, syscall.ECONNRESET) || slices.Contains(portsOfHTTPS, at.Port())):
		return fmt.Sprintf("%s: either it serves https at this address, so %s, or it has crashed, so see its log",
			closedEarly, a.changeScheme(at, "https"))
	case isClosed(err):
		return hasCrashed
	}
	return ""
}

// The hints if the hook closed the connection.
const (
	closedEarly = "the hook closed the connection before it answered"
	hasCrashed  = closedEarly + ": it has probably crashed, so see its log"
)

// ClosedHint returns a text to add to the error of a request that got no complete answer because the other side closed
// the connection. It is empty for other errors.
func ClosedHint(err error) string {
	if isClosed(err) {
		return hasCrashed
	}
	return ""
}

// tlsAlert is how net/http quotes a TLS record with an alert where the response should begin.
const tlsAlert = `malformed HTTP response "\x15\x03`

// portsOfHTTPS are ports that usually speak https.
var portsOfHTTPS = []string{"443", "8443"}

// isPlain reports whether the other side responded to a TLS handshake with something else.
func isPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, http.ErrSchemeMismatch)
}

// changeScheme says how to call the hook with another scheme. The spec does not say where the hook redirects to.
func (a *address) changeScheme(at *url.URL, scheme string) string {
	if at.Host != a.url.Host {
		return fmt.Sprintf("make the hook redirect to %s://%s", scheme, at.Host)
	}
	return fmt.Sprintf("write %s in %s", scheme, a.schemeField)
}

// unreachable returns what to do if no connection was possible because no server is at that address. It is empty if the
// error is about something else, or about a proxy.
func (a *address) unreachable(at *url.URL, err error) string {
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "proxyconnect" {
		return ""
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Sprintf(
			"no process listens at %s: %s, or start the hook", hostAndPort(at), a.correct(at, "host and port"))
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		return fmt.Sprintf(
			"the server cannot resolve the host %q: %s if it is misspelled, or create its Service or DNS name",
			at.Hostname(), a.correct(at, "it"))
	}
	return ""
}

// correct says where to correct a part of an address.
func (a *address) correct(at *url.URL, part string) string {
	if at.Host != a.url.Host {
		return fmt.Sprintf("correct %s in the redirect of the hook", part)
	}
	return fmt.Sprintf("correct %s in %s", part, a.field)
}

func hostAndPort(at *url.URL) string {
	usual := "80"
	if at.Scheme == "https" {
		usual = "443"
	}
	return net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), usual))
}

// httpError returns the error of a call that got no answer. If the call was cut short, the error says why instead of
// the transport's "context deadline exceeded". It contains neither the URL, which explain adds, nor anything that
// differs from call to call so that the same failure has the same text each time.
func httpError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if _, ok := errors.AsType[*timeoutError](cause); ok {
			return cause
		}
		return fmt.Errorf("http error: %w", cause)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if strings.HasPrefix(err.Error(), "failed to parse Location header") {
		err = errors.New("the hook redirects to an invalid URL") // without the location, which may contain a password
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Error() == err.Error() {
		err = &net.OpError{Op: operation.Op, Net: operation.Net, Addr: operation.Addr, Err: operation.Err} // without our port
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		err = &tls.CertificateVerificationError{Err: transport.WithoutTime(invalid)}
	}
	return fmt.Errorf("http error: %w", err)
}

// isClosed reports whether the other side closed the connection instead of answering.
func isClosed(err error) bool {
	for _, closed := range [...]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}
