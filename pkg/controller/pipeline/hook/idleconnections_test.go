// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// connections is a hook that accepts connections by itself. Its addresses and goroutines end with the test.
func connections(t *testing.T, serve func(number int, connection net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for number := 1; ; number++ {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, connection)
			mu.Unlock()
			serving.Go(func() {
				defer func() { _ = connection.Close() }()
				serve(number, connection)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, connection := range open {
			_ = connection.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return "http://" + listener.Addr().String()
}

// answerOnce reads one request and answers it. It returns what was read, and false if there was none.
func answerOnce(connection net.Conn, reader *bufio.Reader) bool {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, request.Body)
	_, err = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	return err == nil
}

// A server closes an idle connection when it wants, which may be while the next request is under way.
func TestAClosedIdleConnectionIsNoError(t *testing.T) {
	ends := map[string]func(net.Conn){
		"it is reset": func(connection net.Conn) {
			_, _ = connection.Read(make([]byte, 1)) // the first byte of the next request: too late for it
			_ = connection.(*net.TCPConn).SetLinger(0)
		},
		"it ends": func(connection net.Conn) {
			_, _ = connection.Read(make([]byte, 1<<16))
		},
	}
	for name, end := range ends {
		for size, padding := range map[string]int{"a small request": 10, "a large request": 8 << 20} {
			t.Run(name+", "+size, func(t *testing.T) {
				url := connections(t, func(_ int, connection net.Conn) {
					if answerOnce(connection, bufio.NewReader(connection)) {
						end(connection)
					}
				})
				hook := webhook(t, url, "")
				about := snapshot(t)
				about.Controller = []byte(`{"padding":"` + strings.Repeat("x", padding) + `"}`)
				for i := range 4 {
					if _, err := hook.SyncComposite(t.Context(), about); err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
				}
			})
		}
	}
}

// A hook that closes a new connection without an answer has failed.
func TestAClosedNewConnectionIsAnError(t *testing.T) {
	url := connections(t, func(_ int, connection net.Conn) { _, _ = connection.Read(make([]byte, 1<<16)) })
	_, err := webhook(t, url, "").SyncComposite(t.Context(), snapshot(t))
	if err == nil || !strings.Contains(err.Error(), hasCrashed) {
		t.Errorf("the error is %v", err)
	}
}

// hookWithDeadConnections returns a hook with that many idle connections, which lead nowhere. New ones lead
// to the hook.
func hookWithDeadConnections(t *testing.T, idle int) *Webhook {
	t.Helper()
	var answered sync.WaitGroup
	answered.Add(idle)
	url := connections(t, func(number int, connection net.Conn) {
		reader := bufio.NewReader(connection)
		if number > idle {
			for answerOnce(connection, reader) {
			}
			return
		}
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		answered.Done()
		answered.Wait() // so that each of the first calls has a connection of its own
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		_, _ = io.Copy(io.Discard, reader) // dead
	})
	timeout := v1alpha1.Duration("300ms")
	hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url, Timeout: &timeout}}, nil,
		Options{MaxResponseBytes: limit, MaxIdleConnections: idle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	for _, err := range callAtOnce(t, hook, idle) {
		t.Error(err)
	}
	return hook
}

// callAtOnce makes so many calls at once, and returns the errors of those that failed.
func callAtOnce(t *testing.T, hook *Webhook, calls int) (errs []error) {
	about := snapshot(t)
	var mu sync.Mutex
	var under sync.WaitGroup
	for range calls {
		under.Go(func() {
			if _, err := hook.SyncComposite(t.Context(), about); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	under.Wait()
	return errs
}

// When the node of a hook is gone, all idle connections lead nowhere, and new ones lead to its successor.
func TestDeadConnectionsCostOneTimeout(t *testing.T) {
	const idle = 4
	hook, about, timeouts := hookWithDeadConnections(t, idle), snapshot(t), 0
	for range idle + 2 {
		_, err := hook.SyncComposite(t.Context(), about)
		if _, ok := errors.AsType[*timeoutError](err); ok {
			timeouts++
		} else if err != nil {
			t.Error(err)
		}
	}
	if timeouts != 1 {
		t.Errorf("there were %d timeouts, want one", timeouts)
	}
}

// Calls over dead connections show nothing about the hook, whose next calls have new connections.
func TestDeadConnectionsDoNotMakeAHookCountAsDown(t *testing.T) {
	hook := hookWithDeadConnections(t, failuresToOpen)
	if errs := callAtOnce(t, hook, failuresToOpen); len(errs) != failuresToOpen {
		t.Errorf("over dead connections, the errors are %v", errs)
	}
	if err := hook.CircuitOpen(); err != nil {
		t.Errorf("the hook counts as down: %v", err)
	}
	for _, err := range callAtOnce(t, hook, failuresToOpen) {
		t.Errorf("over new connections: %v", err)
	}
}
