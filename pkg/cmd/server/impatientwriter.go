// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"time"
)

// impatientWriter fails if the client takes longer than the patience for a part of an answer. Without it, a client
// that does not read has the handler wait forever: a timeout of the request does not end a write.
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
