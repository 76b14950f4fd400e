// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"net/http"
	"slices"
)

// maxRedirects is that of net/http.
const maxRedirects = 10

// CheckRedirect is the CheckRedirect of a client that calls hooks. It removes from the next request what
// the place that it leads to must not be told: the query of the URL that redirects, and, once a redirect
// has led from https to http, the credentials.
func CheckRedirect(next *http.Request, via []*http.Request) error {
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
