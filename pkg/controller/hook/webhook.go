// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hook asks users' webhooks what a parent's children and status shall be.
// The protocol between the two is known here and nowhere else.
package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Options are the limits that hold for every hook of the process.
type Options struct {
	// MaxResponseBytes is the size, decompressed, above which an answer is refused.
	MaxResponseBytes int64
	// MaxIdleConnections is how many connections a hook keeps open between calls.
	MaxIdleConnections int
}

// Webhook is one hook of one hosted controller. It has connections of its own, so
// that a slow hook takes none from another.
type Webhook struct {
	name     string
	version  v1alpha1.HookVersion
	mode     v1alpha1.ResponseUnmarshallMode
	endpoint *url.URL
	// shown is the endpoint as it may be told.
	shown   string
	timeout time.Duration
	limit   int64
	client  *http.Client
}

// Names of the hooks of a controller.
const (
	Sync      = "sync"
	Finalize  = "finalize"
	Customize = "customize"
)

// New makes the webhook of that name. Endpoints are the settings of connections for
// hosts of hooks that set none themselves. The error says what in the spec cannot work.
func New(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig, options Options) (*Webhook, error) {
	spec := hook.Webhook
	target, err := endpoint(spec)
	if err != nil {
		return nil, err
	}
	timeout, err := timeout(spec)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = options.MaxIdleConnections
	transport.MaxIdleConnsPerHost = options.MaxIdleConnections
	return &Webhook{
		name:     name,
		version:  hook.GetVersion(),
		mode:     unmarshalMode(hook),
		endpoint: target,
		shown:    withoutCredentials(target),
		timeout:  timeout,
		limit:    options.MaxResponseBytes,
		client:   &http.Client{Transport: transport},
	}, nil
}

// Close closes the connections that are not in use.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

// SyncComposite asks for the children and the status of the snapshot's parent.
func (w *Webhook) SyncComposite(ctx context.Context, snapshot *stage.Snapshot) (*stage.Response, error) {
	var response *stage.Response
	err := w.ask(ctx, snapshot.Parent, compositeRequest(snapshot), involvesSecrets(snapshot), func(r *reader, answer []byte) (err error) {
		response, err = r.composite(answer)
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// ask calls the hook about a parent and has its answer read. Errors say which hook they
// are about. Secret tells that Secrets are concerned, so that nothing of what is said is
// shown to others.
func (w *Webhook) ask(ctx context.Context, parent *object.Object, request []byte, secret bool, read func(*reader, []byte) error) error {
	w.log(ctx, "Hook request", request, secret)
	answer, err := w.call(ctx, request, secret)
	if err != nil {
		return w.explain(err)
	}
	r := &reader{secret: secret || mentionsSecrets(answer), closely: w.looksClosely(ctx)}
	if err := read(r, answer); err != nil {
		return w.explain(err)
	}
	if err := w.judge(ctx, r.odd); err != nil {
		return w.explain(err)
	}
	w.log(ctx, "Hook answer", answer, r.secret)
	return nil
}

// explain adds which hook an error is about.
func (w *Webhook) explain(err error) error {
	return fmt.Errorf("%s hook failed: %s: %w", w.name, w.shown, err)
}

// call posts the body and returns the answer's. The deadline covers connecting,
// sending and reading.
func (w *Webhook) call(ctx context.Context, body []byte, secret bool) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout,
		fmt.Errorf("no complete answer within %s, the hook's timeout", w.timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("http error: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return nil, httpError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusTooManyRequests {
		return nil, throttled(response.Header.Get("Retry-After"), time.Now())
	}
	answer, err := w.read(ctx, response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		r := &reader{secret: secret || mentionsSecrets(answer)}
		return nil, fmt.Errorf("unsupported status code: %d body: %s (a hook answers with status 200)",
			response.StatusCode, r.quote(answer))
	}
	return answer, nil
}

func (w *Webhook) read(ctx context.Context, body io.Reader) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(body, w.limit+1))
	if err != nil {
		return nil, httpError(ctx, err)
	}
	if int64(len(answer)) > w.limit {
		return nil, fmt.Errorf("%w: it is larger than the %d bytes that --hook-max-response-bytes allows", ErrUnreadable, w.limit)
	}
	return answer, nil
}

// httpError prefers the reason for which the call was given up to the transport's
// "context deadline exceeded", and leaves out the URL, which explain adds.
func httpError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("http error: %w", cause)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("http error: %w", err)
}

// timeout returns the deadline of a call: ten seconds where the spec sets no
// positive one.
func timeout(spec *v1alpha1.Webhook) (time.Duration, error) {
	if spec.Timeout == nil {
		return defaultTimeout, nil
	}
	timeout, err := spec.Timeout.Parse()
	if err != nil {
		return 0, fmt.Errorf("invalid webhook config: timeout: %w", err)
	}
	if timeout <= 0 {
		return defaultTimeout, nil
	}
	return timeout, nil
}
