// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strconv"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Now is the present end of the host's audit log.
func (e *Env) Now(t testing.TB) hostcluster.Position {
	t.Helper()
	now, err := e.Host.Audit().Position()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// Requests are those of our server to the host from a position on that fit, oldest first: each as its verb, the
// subresource if it is about one, and the code of an answer that is no success, as in "update status 409".
func (e *Env) Requests(t testing.TB, from hostcluster.Position, request hostcluster.Request) []string {
	t.Helper()
	request.User = ServerUser
	events, err := e.Host.Audit().Find(from, request)
	if err != nil {
		t.Fatal(err)
	}
	requests := []string{}
	for _, event := range events {
		words := []string{event.Verb}
		if event.ObjectRef != nil && event.ObjectRef.Subresource != "" {
			words = append(words, event.ObjectRef.Subresource)
		}
		if status := event.ResponseStatus; status != nil && status.Code >= 300 {
			words = append(words, strconv.Itoa(int(status.Code)))
		}
		requests = append(requests, strings.Join(words, " "))
	}
	return requests
}
