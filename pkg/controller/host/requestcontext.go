// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

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

// NameAuthors makes the requests of a client name the author of the review that they are made for.
func NameAuthors(client *rest.Config) {
	client.Wrap(func(inner http.RoundTripper) http.RoundTripper { return authorNaming{inner} })
}

type authorNaming struct{ http.RoundTripper }

// maxAuthor limits how many bytes of a name are sent.
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

// Warnings are the texts of warnings in the host's responses to some requests. Its methods may be called
// concurrently.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// CollectWarnings returns a context for requests, and the warnings of their answers. The warnings of
// other requests are logged.
func CollectWarnings(ctx context.Context) (context.Context, *Warnings) {
	warnings := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, warnings), warnings
}

// withoutWarnings returns a context in which the warnings of requests are dropped.
func withoutWarnings(ctx context.Context) context.Context {
	return context.WithValue(ctx, warningsKey{}, (*Warnings)(nil))
}

// Texts returns the warnings so far, each once.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

func (w *Warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

type warningsKey struct{}

// warningHandler adds the warnings of a response to the context of the request.
type warningHandler struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	const fromServer = 299
	switch warnings, collected := ctx.Value(warningsKey{}).(*Warnings); {
	case !collected:
		rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, code, agent, text)
	case warnings != nil && code == fromServer && text != "":
		warnings.add(text)
	}
}
