// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"testing"
)

func TestABufferIsUsedAgainWhenAllAreDoneWithIt(t *testing.T) {
	t.Parallel()
	var all buffers
	first := all.get()
	first.bytes = append(first.bytes, "first"...)
	read, again := first.reader(), first.reader()
	first.release()
	_ = read.Close()
	_ = read.Close()
	if second := all.get(); second == first {
		t.Fatal("it is used again while somebody may read it")
	}
	if got, err := io.ReadAll(again); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v", got, err)
	}
	_ = again.Close()
	if first.users.Load() != 0 || len(first.bytes) != 0 {
		t.Errorf("it has %d users and %d bytes when nobody needs it any more", first.users.Load(), len(first.bytes))
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	t.Parallel()
	var all buffers
	large := all.get()
	large.bytes = make([]byte, maxKept+1)
	large.release()
	if next := all.get(); cap(next.bytes) > 0 {
		t.Errorf("there is room for %d bytes", cap(next.bytes))
	}
}
