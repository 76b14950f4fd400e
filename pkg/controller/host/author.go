// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"net/http"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// authorKey is the key of the author of a review in a context.
type authorKey struct{}

// WithAuthor returns a context whose requests are made for the author of a review. The audit logs of API servers show
// that in the User-Agent: the user of such a request is the server, or the service account of a controller.
func WithAuthor(ctx context.Context, author string) context.Context {
	return context.WithValue(ctx, authorKey{}, author)
}

// NameAuthors has the requests of a client name the author of the review that they are made for.
func NameAuthors(client *rest.Config) {
	client.Wrap(func(inner http.RoundTripper) http.RoundTripper { return authorNaming{inner} })
}

type authorNaming struct{ http.RoundTripper }

// maxAuthor is how many bytes of a name are sent.
const maxAuthor = 256

// RoundTrip implements http.RoundTripper.
func (a authorNaming) RoundTrip(request *http.Request) (*http.Response, error) {
	if author, ok := request.Context().Value(authorKey{}).(string); ok {
		request = request.Clone(request.Context())
		named := " (review by " + strconv.QuoteToASCII(text.Shorten(author, maxAuthor)) + ")"
		request.Header.Set("User-Agent", request.UserAgent()+named)
	}
	return a.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (a authorNaming) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }
