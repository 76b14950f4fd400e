// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// maxRedirects is that of net/http.
const maxRedirects = 10

// Redirects says which redirects of a hook are followed.
type Redirects string

const (
	// SameHost follows redirects that stay on the host of the hook, with any scheme and port. Else the
	// hook would have the server read from hosts that only the server reaches.
	SameHost Redirects = "same-host"
	// AnyHost follows all redirects.
	AnyHost Redirects = "any-host"
)

// Check is the CheckRedirect of a client that calls hooks. It removes from the next request what
// the place that it leads to must not be told: the query of the URL that redirects, and, once a redirect
// has led from https to http, the credentials.
func (r Redirects) Check(next *http.Request, via []*http.Request) error {
	if r != AnyHost && !strings.EqualFold(next.URL.Hostname(), via[0].URL.Hostname()) {
		return fmt.Errorf("the hook redirects to another host, %q, which is not followed (--hook-redirects): "+
			"have the hook answer by itself, or call it there", next.URL.Host)
	}
	next.Header.Del("Referer")
	isPlain := func(request *http.Request) bool { return request.URL.Scheme != "https" }
	if !isPlain(via[0]) && (isPlain(next) || slices.ContainsFunc(via, isPlain)) {
		next.Header.Del("Authorization")
	}
	if len(via) >= maxRedirects {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
