// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// reply is the response of a hook to one request.
type reply struct {
	status int
	body   *bytes.Buffer
	// etag is the ETag of the answer; empty if there is none.
	etag string
	// notModified is true if the answer is the one whose ETag was in the request.
	notModified bool
	// credentials are those of the request, and sent is true if the request was sent.
	credentials []string
	sent        bool
}

// The headers that Metacontroller's requests do not have. They are not fields of the body, because hooks that know only
// the fields of Metacontroller's requests may refuse others.
const (
	// PreviewHeader marks calls for previews. A hook with side effects can skip them in such a call.
	PreviewHeader = "X-Metacontroller-Preview"
	// TriggerHeader says what woke the sync.
	TriggerHeader = "X-Metacontroller-Trigger"
)

// post sends the content of the buffer and returns the response of the hook, regardless of its status code. The
// deadline covers connecting, sending and reading. etag is the ETag of the cached answer; empty if there is none.
func (w *Webhook) post(ctx context.Context, posted *buffer, trigger pipeline.Trigger, etag string) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, w.timeoutError)
	defer cancel()
	used := newConnectionUse()
	of := httptrace.WithClientTrace(context.WithValue(ctx, bufferKey{}, posted), &used.trace)
	request, err := http.NewRequestWithContext(of, http.MethodPost, w.address.url.String(), posted.reader())
	if err != nil {
		return reply{}, httpError(ctx, err)
	}
	request.ContentLength = int64(len(posted.bytes))
	request.GetBody = func() (io.ReadCloser, error) { return posted.reader(), nil }
	request.Header.Set("Content-Type", "application/json")
	// With this entry, which is not sent, net/http sends the request again if the hook closes an idle connection
	// instead of answering. A hook returns the same answer to the same request.
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
	received.notModified = etag != "" &&
		(received.status == http.StatusNotModified || received.status == http.StatusPreconditionFailed)
	return received, nil
}

// readBody reads the body of a response into a pooled buffer. It makes room for as many bytes as the hook announces, or
// else for as many as its last answer had.
func (w *Webhook) readBody(ctx context.Context, response *http.Response) (*bytes.Buffer, error) {
	expected := response.ContentLength
	if expected < 0 { // the hook announces nothing
		expected = w.spare.lastSize.Load()
	}
	body := w.spare.answer()
	expected = min(expected, w.limit, maxExpectedBytes)
	reader, err := roomOf(ctx).reader(io.LimitReader(response.Body, w.limit+1), expected)
	if err == nil {
		body.Grow(int(expected) + bytes.MinRead)
		_, err = body.ReadFrom(reader)
	}
	if isNoRoom(err) {
		return nil, err
	}
	// A server that refuses a request may close the connection before it has read the request. The part of the body that
	// has arrived says why.
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
		return nil, fmt.Errorf("%w: it is larger than the %d bytes that %s", ErrMalformed, w.limit, w.whyLimit)
	}
	return body, nil
}

// connectionUse records how the connection of a request is used.
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

// send sends a request whose context has the trace of used. net/http does not retry if the hook closes an idle
// connection while a large request is being written to it, so send retries once.
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

// closeDead closes the idle connections after a call that took too long: the host that they lead to may be gone, and
// each of them would delay another call as long. It reports whether the call took too long.
func (w *Webhook) closeDead(ctx context.Context) bool {
	_, ok := errors.AsType[*timeoutError](context.Cause(ctx))
	if ok {
		w.transport.CloseIdle()
	}
	return ok
}

// reuse puts the buffer of an answer into the pool, unless it is too large. Nothing may keep a reference to the answer.
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
		if hint := cmp.Or(w.address.hint(err), w.transport.TLSHint(err)); hint != "" {
			return fmt.Errorf("%w (%s)", failed, hint)
		}
	}
	return failed
}

const (
	// maxPooledBytes limits the buffers of requests and answers that are kept for later calls.
	maxPooledBytes = 1 << 20
	// maxExpectedBytes limits the memory that is allocated before an answer is read. A larger answer gets more while it
	// is read.
	maxExpectedBytes = 1 << 20
)

// spareBuffers are buffers that calls leave to later calls of the same hook.
type spareBuffers struct {
	requests bufferPool
	// answers has buffers of answers that are no longer used.
	answers sync.Pool
	// lastSize is the size of the last answer in bytes.
	lastSize atomic.Int64
}

// answer returns an empty buffer for an answer.
func (s *spareBuffers) answer() *bytes.Buffer {
	if spare, ok := s.answers.Get().(*bytes.Buffer); ok {
		return spare
	}
	return &bytes.Buffer{}
}

// bufferPool has the buffers for the bodies of a hook's requests. Without it, requests would be most of the garbage of
// syncs that change nothing.
type bufferPool struct{ pool sync.Pool }

// buffer holds the body of one request. It returns to its pool when all its users have released it:
// the caller, and the HTTP transport once for each time that it sends the body.
type buffer struct {
	bytes []byte
	pool  *bufferPool
	users atomic.Int32
}

// get returns an empty buffer, which the caller must release.
func (p *bufferPool) get() *buffer {
	got, ok := p.pool.Get().(*buffer)
	if !ok {
		got = &buffer{pool: p}
	}
	got.users.Store(1)
	return got
}

// release ends the use of the buffer by one user.
func (b *buffer) release() {
	if b.users.Add(-1) == 0 && cap(b.bytes) <= maxPooledBytes {
		b.bytes = b.bytes[:0]
		b.pool.pool.Put(b)
	}
}

// reader returns a reader with which a transport sends the buffer once. net/http knows from its type that the body is
// in memory; otherwise it would send the header separately and copy the body.
func (b *buffer) reader() io.ReadCloser {
	b.users.Add(1)
	return io.NopCloser(bytes.NewReader(b.bytes))
}

// written is called by the transport when it has sent the buffer. The answer may arrive before that. If sending failed,
// nothing reports when the transport is done, and the buffer is never reused.
func (b *buffer) written(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		b.release()
	}
}

// bufferKey is the key under which the context of a call has the buffer that its requests send.
type bufferKey struct{}
