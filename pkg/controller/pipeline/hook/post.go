// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// reply is what a hook replied to one request.
type reply struct {
	status int
	body   *bytes.Buffer
	// etag is the ETag of the answer; empty if there is none.
	etag string
	// notModified reports that the answer is the one whose ETag was in the request.
	notModified bool
	// credentials are what the request was sent with, and sent is true if it was.
	credentials []string
	sent        bool
}

// The headers with what Metacontroller's requests do not say. Fields of the body would be refused by
// hooks that know no others than those of Metacontroller.
const (
	// PreviewHeader marks the calls for previews. Hooks may have effects of their own, which they can
	// leave out then.
	PreviewHeader = "X-Metacontroller-Preview"
	// TriggerHeader says what woke the sync.
	TriggerHeader = "X-Metacontroller-Trigger"
)

// post sends the content of the buffer and returns what the hook replies, whatever its status. The
// deadline covers connecting, sending and reading. The etag is the one of the cached answer; empty
// if there is none.
func (w *Webhook) post(ctx context.Context, posted *buffer, trigger pipeline.Trigger, etag string) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, w.timeoutError)
	defer cancel()
	used := newConnectionUse()
	of := httptrace.WithClientTrace(context.WithValue(ctx, bufferKey{}, posted), &used.trace)
	request, err := http.NewRequestWithContext(of, http.MethodPost, w.endpoint.String(), posted.reader())
	if err != nil {
		return reply{}, httpError(ctx, err)
	}
	request.ContentLength = int64(len(posted.bytes))
	request.GetBody = func() (io.ReadCloser, error) { return posted.reader(), nil }
	request.Header.Set("Content-Type", "application/json")
	// With this entry, which is not sent, net/http sends the request again if the hook closes an idle
	// connection instead of answering. Hooks answer the same to the same request.
	request.Header["Idempotency-Key"] = nil
	tracing.Inject(ctx, request.Header)
	credentials := w.transport.Authorize(request)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	if trigger != "" {
		request.Header.Set(TriggerHeader, string(trigger))
	}
	if w.preview != nil {
		request.Header.Set(PreviewHeader, "true")
	}
	if w.mayCall != nil {
		if err := w.mayCall(); err != nil {
			return reply{}, err
		}
	}
	received := reply{credentials: credentials, sent: true}
	response, err := w.send(request, used)
	if err != nil {
		failed := w.requestError(ctx, err)
		if w.closeDead(ctx) && used.before {
			failed = &oldConnectionError{failed}
		}
		return received, failed
	}
	defer func() { _ = response.Body.Close() }()
	received.status = response.StatusCode
	if received.status == http.StatusTooManyRequests {
		return received, throttled(response.Header.Get("Retry-After"), time.Now())
	}
	if received.body, err = w.readBody(ctx, response); err != nil {
		return received, err
	}
	if received.etag = response.Header.Get("ETag"); len(received.etag) > maxETagBytes {
		received.etag = ""
	}
	received.notModified = etag != "" && (received.status == http.StatusNotModified || received.status == http.StatusPreconditionFailed)
	return received, nil
}

// readBody reads the body of a response into a pooled buffer. It makes room for as many bytes as
// the hook announces, or else as its last answer had.
func (w *Webhook) readBody(ctx context.Context, response *http.Response) (*bytes.Buffer, error) {
	expected := response.ContentLength
	if expected < 0 { // the hook announces nothing
		expected = w.spare.lastSize.Load()
	}
	body, ok := w.spare.answers.Get().(*bytes.Buffer)
	if !ok {
		body = &bytes.Buffer{}
	}
	expected = min(expected, w.limit, maxExpectedBytes)
	reader, err := roomOf(ctx).reader(io.LimitReader(response.Body, w.limit+1), expected)
	if err == nil {
		body.Grow(int(expected) + bytes.MinRead)
		_, err = body.ReadFrom(reader)
	}
	if isNoRoom(err) {
		return nil, err
	}
	// A server that refuses a request may close the connection before it has read the request. What has
	// arrived of the body says why.
	isRefused := response.StatusCode != http.StatusOK && body.Len() > 0
	if err != nil && (!isRefused || context.Cause(ctx) != nil) {
		w.closeDead(ctx)
		failed := httpError(ctx, err)
		if context.Cause(ctx) == nil && isClosed(err) {
			return nil, fmt.Errorf("%w (%s)", failed, hasCrashed)
		}
		return nil, failed
	}
	w.spare.lastSize.Store(int64(body.Len()))
	if int64(body.Len()) > w.limit {
		return nil, fmt.Errorf("%w: it is larger than the %d bytes that %s", ErrUnreadable, w.limit, w.whyLimit)
	}
	return body, nil
}

// connectionUse notes how the connection of a request is used.
type connectionUse struct {
	trace httptrace.ClientTrace
	// before is true if the connection was used before.
	before bool
}

func newConnectionUse() *connectionUse {
	u := &connectionUse{}
	u.trace.GotConn = func(got httptrace.GotConnInfo) { u.before = got.Reused }
	return u
}

// send sends a request whose context has the trace of used. If the hook closes an idle connection while a large request is
// written to it, net/http does not send it again, so send does, once.
func (w *Webhook) send(request *http.Request, used *connectionUse) (*http.Response, error) {
	response, err := w.client.Do(request)
	if err == nil || !used.before || request.Context().Err() != nil || !isClosed(err) && !errors.Is(err, net.ErrClosed) {
		return response, err
	}
	w.transport.CloseIdle()
	again := request.Clone(request.Context())
	if again.Body, err = request.GetBody(); err != nil {
		return nil, err
	}
	used.before = false
	return w.client.Do(again)
}

// closeDead closes the idle connections after a call that took too long: the host that they lead to may be
// gone, and each of them would cost the next call as long. It reports whether the call took too long.
func (w *Webhook) closeDead(ctx context.Context) bool {
	_, ok := errors.AsType[*timeoutError](context.Cause(ctx))
	if ok {
		w.transport.CloseIdle()
	}
	return ok
}

// reuse puts the buffer of an answer into the pool, unless it is too large. Nothing may hold on to
// the answer.
func (w *Webhook) reuse(body *bytes.Buffer) {
	if body != nil && body.Cap() <= maxPooledBytes {
		body.Reset()
		w.spare.answers.Put(body)
	}
}

// requestError returns the error of a request that got no response.
func (w *Webhook) requestError(ctx context.Context, err error) error {
	failed := httpError(ctx, err)
	if context.Cause(ctx) == nil {
		if hint := w.connectionHint(err); hint != "" {
			return fmt.Errorf("%w (%s)", failed, hint)
		}
	}
	return failed
}

// httpError returns the error of a call that got no answer. If the call was given up, the error
// says why instead of the transport's "context deadline exceeded". It never contains the URL, which
// explain adds, and nothing that differs from call to call: the same error would be another one each time.
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
