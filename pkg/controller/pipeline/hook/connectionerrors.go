// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// connectionError returns the error of a request that got no response. It says what to change in the
// spec if the connection shows that something there is wrong; nil if it shows nothing.
func (w *Webhook) connectionError(err error) error {
	at := w.endpoint
	if request, ok := errors.AsType[*url.Error](err); ok {
		if redirected, parseErr := url.Parse(request.URL); parseErr == nil {
			at = redirected
		}
		err = request.Err
	}
	if unreachable := w.unreachable(at, err); unreachable != nil {
		return unreachable
	}
	switch {
	case at.Scheme == "https" && isPlain(err):
		return errors.New("it was called with https, and it speaks http there: " + w.changeScheme(at, "http"))
	case at.Scheme == "http" && strings.Contains(err.Error(), tlsAlert):
		return w.speaksHTTPS(at)
	case at.Scheme == "http" && isClosed(err) && (errors.Is(err, syscall.ECONNRESET) || slices.Contains(portsOfHTTPS, at.Port())):
		return fmt.Errorf("the hook closed the connection before it had answered: "+
			"either it speaks https there, and it was called with http (%s), or it has crashed, so look at its log", w.changeScheme(at, "https"))
	}
	return w.transport.ExplainTLS(err)
}

// tlsAlert is how net/http quotes a TLS record with an alert where the response should begin.
const tlsAlert = `malformed HTTP response "\x15\x03`

// portsOfHTTPS are ports that usually speak https.
var portsOfHTTPS = []string{"443", "8443"}

// isPlain reports whether the other side answered a TLS handshake with something else.
func isPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, http.ErrSchemeMismatch)
}

// refusalsOfHTTP are what servers answer with status 400 if http is spoken to a port of https: Go,
// nginx, Apache and Tomcat.
var refusalsOfHTTP = []string{
	"HTTP request to an HTTPS server",
	"plain HTTP request was sent to HTTPS port",
	"speaking plain HTTP to an SSL-enabled server port",
	"combination of host and port requires TLS",
}

// refusesHTTP reports whether a response says that https is spoken where the hook was called with http.
// The body may be cut: servers reset the connection, because they do not read the request.
func refusesHTTP(response *http.Response, body []byte) bool {
	return response.StatusCode == http.StatusBadRequest && response.Request.URL.Scheme == "http" &&
		slices.ContainsFunc(refusalsOfHTTP, func(refusal string) bool { return bytes.Contains(body, []byte(refusal)) })
}

func (w *Webhook) speaksHTTPS(at *url.URL) error {
	return errors.New("it was called with http, and it speaks https there: " + w.changeScheme(at, "https"))
}

// changeScheme says how the hook is called with another scheme. A redirect is none of the spec.
func (w *Webhook) changeScheme(at *url.URL, scheme string) string {
	if at.Host != w.endpoint.Host {
		return fmt.Sprintf("have the hook redirect to %s://%s", scheme, at.Host)
	}
	return fmt.Sprintf("write %s in %s", scheme, w.schemeField)
}

// schemeField returns the field of the spec that has the scheme with which a hook is called.
func schemeField(name string, spec *v1alpha1.Webhook) string {
	if hasURL(spec) {
		return addressField(name, spec)
	}
	return addressField(name, spec) + ".protocol"
}
