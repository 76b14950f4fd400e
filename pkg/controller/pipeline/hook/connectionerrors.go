// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
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

// connectionHint returns what to do about a request that got no response, if the error shows that
// something in the spec is wrong; empty if it shows nothing. It follows the error.
func (w *Webhook) connectionHint(err error) string {
	at := w.endpoint
	if request, ok := errors.AsType[*url.Error](err); ok {
		if redirected, parseErr := url.Parse(request.URL); parseErr == nil {
			at = redirected
		}
		err = request.Err
	}
	if hint := w.unreachable(at, err); hint != "" {
		return hint
	}
	switch {
	case at.Scheme == "https" && isPlain(err):
		return "it speaks http there: " + w.changeScheme(at, "http")
	case at.Scheme == "http" && strings.Contains(err.Error(), tlsAlert):
		return "it speaks https there: " + w.changeScheme(at, "https")
	case at.Scheme == "http" && isClosed(err) && (errors.Is(err, syscall.ECONNRESET) || slices.Contains(portsOfHTTPS, at.Port())):
		return fmt.Sprintf("%s: either it speaks https there, so %s, or it has crashed, so look at its log",
			closedEarly, w.changeScheme(at, "https"))
	case isClosed(err):
		return hasCrashed
	}
	return w.transport.TLSHint(err)
}

// What it means that the other side closed the connection.
const (
	closedEarly = "the hook closed the connection before it had answered"
	hasCrashed  = closedEarly + ": it has probably crashed, so look at its log"
)

// ClosedHint returns what it means that a request got no whole answer, if the other side closed the connection; else
// empty. It follows the error.
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

// isPlain reports whether the other side answered a TLS handshake with something else.
func isPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, http.ErrSchemeMismatch)
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
