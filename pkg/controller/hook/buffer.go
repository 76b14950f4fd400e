// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

// maxKept is how large a buffer may be that is kept for later requests.
const maxKept = 1 << 20

// buffers are what the bodies of a hook's requests are put together in. They are used again: requests
// are most of what quiet syncs would leave to the garbage collector.
type buffers struct{ pool sync.Pool }

// buffer holds the body of one request until all are done with it: who made it, and each reader.
type buffer struct {
	bytes []byte
	from  *buffers
	users atomic.Int32
}

// get returns an empty buffer, which must be released.
func (b *buffers) get() *buffer {
	got, ok := b.pool.Get().(*buffer)
	if !ok {
		got = &buffer{from: b}
	}
	got.users.Store(1)
	return got
}

// release says that one user is done.
func (b *buffer) release() {
	if b.users.Add(-1) == 0 && cap(b.bytes) <= maxKept {
		b.bytes = b.bytes[:0]
		b.from.pool.Put(b)
	}
}

// reader returns a reader of the buffer, which must be closed. A transport may still read a request
// when its answer is there, and closes it when it does so no longer.
func (b *buffer) reader() io.ReadCloser {
	b.users.Add(1)
	return &bufferReader{Reader: bytes.NewReader(b.bytes), close: sync.OnceFunc(b.release)}
}

type bufferReader struct {
	*bytes.Reader
	close func()
}

// Close implements io.Closer. It may be called more than once.
func (r *bufferReader) Close() error {
	r.close()
	return nil
}
