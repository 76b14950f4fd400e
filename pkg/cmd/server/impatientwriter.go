// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"time"
)

// impatientWriter gives the client so much time for each write of an answer, and fails if the client has not taken it by then.
// Without that, a client that does not read would block the handler forever: the timeout of a request does not end a write.
type impatientWriter struct {
	to       http.ResponseWriter
	request  *http.Request
	patience time.Duration
}

func (w *impatientWriter) Write(part []byte) (int, error) {
	if err := w.request.Context().Err(); err != nil {
		return 0, err // the connection may belong to another request by now
	}
	if err := http.NewResponseController(w.to).SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, err
	}
	return w.to.Write(part)
}
