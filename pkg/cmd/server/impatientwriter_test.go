// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a listener with one connection, which holds nothing back: what is written waits until it is read.
type pipe struct {
	net.Listener
	conns chan net.Conn
}

func (p pipe) Accept() (net.Conn, error) {
	conn, open := <-p.conns
	if !open {
		return nil, http.ErrServerClosed
	}
	return conn, nil
}
func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{} }

func TestAClientMustReadEachPartInTime(t *testing.T) {
	const parts, patience = 10, 30 * time.Second
	for name, test := range map[string]struct {
		reads int
		pause time.Duration
		want  error
	}{
		"one that reads slowly":              {reads: parts, pause: patience - time.Second},
		"one that stops":                     {reads: parts / 2, want: os.ErrDeadlineExceeded},
		"one that never reads":               {reads: 0, want: os.ErrDeadlineExceeded},
		"one that needs too long for a part": {reads: parts, pause: patience + time.Second, want: os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				part := make([]byte, 64<<10)
				written := make(chan error, 1)
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var err error
					for range parts {
						if _, err = (&impatientWriter{to: w, request: r, patience: patience}).Write(part); err != nil {
							break
						}
					}
					written <- err
				})}
				ours, theirs := net.Pipe()
				listener := pipe{conns: make(chan net.Conn, 1)}
				listener.conns <- theirs
				served := make(chan error)
				go func() { served <- server.Serve(listener) }()
				read := make(chan struct{})
				go func() {
					defer close(read)
					if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
						t.Error(err)
					}
					for range test.reads {
						if _, err := io.ReadFull(ours, make([]byte, len(part))); err != nil {
							return
						}
						<-time.After(test.pause)
					}
					if test.reads == parts {
						_, _ = io.Copy(io.Discard, ours)
					}
				}()
				began := time.Now()
				if err := <-written; !errors.Is(err, test.want) {
					t.Errorf("after %s, writing has the error %v, want %v", time.Since(began), err, test.want)
				}
				close(listener.conns)
				_ = ours.Close()
				<-read
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}
