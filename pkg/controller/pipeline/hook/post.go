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
	// unchanged tells that the answer is the one that the request named by its ETag.
	unchanged bool
}

// refusal is the error of a call that was answered with a status that is no answer.
type refusal struct {
	status int
	body   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("unsupported status code: %d body: %s (200 is expected)", r.status, r.body)
}

// ofHook tells whether the hook itself has refused, and not what stands before it because the
// hook is not there.
func (r *refusal) ofHook() bool {
	return r.status != http.StatusBadGateway && r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout
}

// call posts what the buffer holds and returns the answer. The deadline covers connecting, sending and
// reading. An etag is that of the answer that is known already.
func (w *Webhook) call(ctx context.Context, posted *buffer, etag string, secret bool) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, w.late)
	defer cancel()
	request, err := http.NewRequestWithContext(context.WithValue(ctx, posting{}, posted), http.MethodPost, w.endpoint.String(), posted.reader())
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
	answer, err := w.read(ctx, response)
	if err != nil {
		return reply{}, err
	}
	switch status := response.StatusCode; {
	case status == http.StatusOK:
		return reply{body: answer, etag: response.Header.Get("ETag")}, nil
	case etag != "" && (status == http.StatusNotModified || status == http.StatusPreconditionFailed):
		return reply{unchanged: true}, nil
	default:
		r := &reader{secret: secret || mentionsSecrets(answer.Bytes())}
		return reply{}, &refusal{status: status, body: r.quote(hide(answer.Bytes()))}
	}
}

// believed is how many bytes there is room made for because a hook says that its answer has
// them, or because the last one had. For more, room is made as they come.
const believed = 1 << 20

func (w *Webhook) read(ctx context.Context, response *http.Response) (*bytes.Buffer, error) {
	expected := response.ContentLength
	if expected < 0 { // it does not say
		expected = w.answered.Load()
	}
	answer, ok := w.spare.Get().(*bytes.Buffer)
	if !ok {
		answer = &bytes.Buffer{}
	}
	answer.Grow(int(min(expected, w.limit, believed)) + bytes.MinRead)
	_, err := answer.ReadFrom(io.LimitReader(response.Body, w.limit+1))
	if err != nil {
		return nil, httpError(ctx, err)
	}
	w.answered.Store(int64(answer.Len()))
	if int64(answer.Len()) > w.limit {
		return nil, fmt.Errorf("%w: it is larger than the %d bytes that --hook-max-response-bytes allows", ErrUnreadable, w.limit)
	}
	return answer, nil
}

// spend gives the room of an answer that nobody keeps to later ones.
func (w *Webhook) spend(answer *bytes.Buffer) {
	if answer != nil && answer.Cap() <= maxKept {
		answer.Reset()
		w.spare.Put(answer)
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
