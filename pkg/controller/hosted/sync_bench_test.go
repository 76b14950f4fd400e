// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
)

// hookOfTen answers with the ten children as they are. It does little else, so that what is
// measured is what the one who asks takes.
func hookOfTen(t testing.TB) string {
	body := answerOfTen("")
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerAll(connection, answer) })
		}
	})
	return "http://" + listener.Addr().String()
}

// answerAll answers all requests of a connection alike, until whoever asks closes it.
func answerAll(connection net.Conn, answer []byte) {
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}

// BenchmarkQuietSync is a whole sync of a parent with ten children that finds nothing to do,
// the call of the hook and the hook's own work included.
func BenchmarkQuietSync(b *testing.B) {
	c := controllerOfTen(b, hookOfTen(b))
	b.ReportAllocs()
	for b.Loop() {
		if verdict := c.sync(b.Context(), web("a")); verdict != syncqueue.Done(0) {
			b.Fatal(verdict, c.Health().LastError)
		}
	}
}
