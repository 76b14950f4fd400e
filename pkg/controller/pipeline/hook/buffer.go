// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"io"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// maxPooledBytes is how large a buffer may be that is kept for later requests.
const maxPooledBytes = 1 << 20

// bufferPool are what the bodies of a hook's requests are put together in. They are used again: requests
// are most of what quiet syncs would leave to the garbage collector.
type bufferPool struct{ pool sync.Pool }

// buffer holds the body of one request until all are done with it: who made it, and the transport each
// time that it sends it.
type buffer struct {
	bytes []byte
	pool  *bufferPool
	users atomic.Int32
}

// get returns an empty buffer, which must be released.
func (b *bufferPool) get() *buffer {
	got, ok := b.pool.Get().(*buffer)
	if !ok {
		got = &buffer{pool: b}
	}
	got.users.Store(1)
	return got
}

// release says that one user is done.
func (b *buffer) release() {
	if b.users.Add(-1) == 0 && cap(b.bytes) <= maxPooledBytes {
		b.bytes = b.bytes[:0]
		b.pool.pool.Put(b)
	}
}

// reader returns a reader of the buffer for a transport to send it once. net/http knows it to be in memory:
// of any other it sends the head on its own, and copies the body to send it.
func (b *buffer) reader() io.ReadCloser {
	b.users.Add(1)
	return io.NopCloser(bytes.NewReader(b.bytes))
}

// written is told by the transport how it has sent what reader returned; the answer may be there before. If
// that failed, nothing tells when the transport is done, and the buffer is not used again.
func (b *buffer) written(how httptrace.WroteRequestInfo) {
	if how.Err == nil {
		b.release()
	}
}
