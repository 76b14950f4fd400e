// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// reply is what a hook said.
type reply struct {
	body *bytes.Buffer
	// etag is what the hook calls this answer; empty if it does not.
	etag string
	// notModified tells that the answer is the one that the request named by its ETag.
	notModified bool
}

// statusError is the error of a call that was answered with a status that is no answer.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("unsupported status code: %d body: %s (200 is expected)", e.status, e.body)
}

// fromHook tells whether the hook itself has refused, and not what stands before it because the
// hook is not there.
func (e *statusError) fromHook() bool {
	return e.status != http.StatusBadGateway && e.status != http.StatusServiceUnavailable && e.status != http.StatusGatewayTimeout
}

// post posts what the buffer holds and returns the answer. The deadline covers connecting, sending and
// reading. An etag is that of the answer that is known already.
func (w *Webhook) post(ctx context.Context, posted *buffer, etag string, secret bool) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, w.timeoutError)
	defer cancel()
	request, err := http.NewRequestWithContext(context.WithValue(ctx, bufferKey{}, posted), http.MethodPost, w.endpoint.String(), posted.reader())
	if err != nil {
		return reply{}, httpError(ctx, err)
	}
	request.ContentLength = int64(len(posted.bytes))
	request.GetBody = func() (io.ReadCloser, error) { return posted.reader(), nil }
	request.Header.Set("Content-Type", "application/json")
	hide := w.connection.authorize(request)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return reply{}, httpError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusTooManyRequests {
		return reply{}, throttled(response.Header.Get("Retry-After"), time.Now())
	}
	answer, err := w.readBody(ctx, response)
	if err != nil {
		return reply{}, err
	}
	switch status := response.StatusCode; {
	case status == http.StatusOK:
		return reply{body: answer, etag: response.Header.Get("ETag")}, nil
	case etag != "" && (status == http.StatusNotModified || status == http.StatusPreconditionFailed):
		return reply{notModified: true}, nil
	default:
		r := &reader{secret: secret || mentionsSecrets(answer.Bytes())}
		return reply{}, &statusError{status: status, body: r.quote(hide(answer.Bytes()))}
	}
}

// maxExpectedBytes is how many bytes there is room made for because a hook says that its answer has
// them, or because the last one had. For more, room is made as they come.
const maxExpectedBytes = 1 << 20

func (w *Webhook) readBody(ctx context.Context, response *http.Response) (*bytes.Buffer, error) {
	expected := response.ContentLength
	if expected < 0 { // it does not say
		expected = w.lastSize.Load()
	}
	answer, ok := w.bodies.Get().(*bytes.Buffer)
	if !ok {
		answer = &bytes.Buffer{}
	}
	answer.Grow(int(min(expected, w.limit, maxExpectedBytes)) + bytes.MinRead)
	_, err := answer.ReadFrom(io.LimitReader(response.Body, w.limit+1))
	if err != nil {
		return nil, httpError(ctx, err)
	}
	w.lastSize.Store(int64(answer.Len()))
	if int64(answer.Len()) > w.limit {
		return nil, fmt.Errorf("%w: it is larger than the %d bytes that --hook-max-response-bytes allows", ErrUnreadable, w.limit)
	}
	return answer, nil
}

// reuse gives the room of an answer that nobody keeps to later ones.
func (w *Webhook) reuse(answer *bytes.Buffer) {
	if answer != nil && answer.Cap() <= maxPooledBytes {
		answer.Reset()
		w.bodies.Put(answer)
	}
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
	if strings.HasPrefix(err.Error(), "failed to parse Location header") {
		err = errors.New("the hook redirects to what is no URL") // which is not told, as there may be a password in it
	}
	return fmt.Errorf("http error: %w", err)
}
