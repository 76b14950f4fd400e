// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http/httptrace"
	"testing"
)

func TestABufferIsUsedAgainWhenAllAreDoneWithIt(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.bytes = append(first.bytes, "first"...)
	_, again := first.reader(), first.reader()
	first.release()
	first.written(httptrace.WroteRequestInfo{})
	if second := all.get(); second == first {
		t.Fatal("it is used again while somebody may read it")
	}
	if got, err := io.ReadAll(again); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v", got, err)
	}
	first.written(httptrace.WroteRequestInfo{})
	if first.users.Load() != 0 || len(first.bytes) != 0 {
		t.Errorf("it has %d users and %d bytes when nobody needs it any more", first.users.Load(), len(first.bytes))
	}
}

func TestABufferThatWasNotSentWellIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.reader()
	first.written(httptrace.WroteRequestInfo{Err: io.ErrClosedPipe})
	first.release()
	if users := first.users.Load(); users != 1 {
		t.Errorf("it has %d users, want one for ever: the transport, which may still read it", users)
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	t.Parallel()
	var all bufferPool
	large := all.get()
	large.bytes = make([]byte, maxPooledBytes+1)
	large.release()
	if next := all.get(); cap(next.bytes) > 0 {
		t.Errorf("there is room for %d bytes", cap(next.bytes))
	}
}
