// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// AuditEnd is the present end of the host's audit log.
func (e *Env) AuditEnd(t testing.TB) hostcluster.Position {
	t.Helper()
	now, err := e.Host.Audit().Position()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// AuditEvents returns the requests of our server to the host from a position on that fit, oldest
// first.
func (e *Env) AuditEvents(t testing.TB, from hostcluster.Position, request hostcluster.Request) []auditv1.Event {
	t.Helper()
	request.User = ServerUser
	events, err := e.Host.Audit().Find(from, request)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// RequestLines returns the same requests as text: verb, URI and the code of the answer.
func (e *Env) RequestLines(t testing.TB, from hostcluster.Position, request hostcluster.Request) []string {
	t.Helper()
	var lines []string
	for _, event := range e.AuditEvents(t, from, request) {
		lines = append(lines, fmt.Sprintf("%s %s: %d", event.Verb, event.RequestURI, event.ResponseStatus.Code))
	}
	return lines
}

// ExpectNoRequests fails the test for each request of our server to the host that fits.
func (e *Env) ExpectNoRequests(t testing.TB, from hostcluster.Position, request hostcluster.Request) {
	t.Helper()
	for _, line := range e.RequestLines(t, from, request) {
		t.Errorf("there should be no such request: %s", line)
	}
}

// Requests returns the same requests in short: the verb, the subresource if it is about one, and the
// code of an answer that is no success, as in "update status 409".
func (e *Env) Requests(t testing.TB, from hostcluster.Position, request hostcluster.Request) []string {
	t.Helper()
	requests := []string{}
	for _, event := range e.AuditEvents(t, from, request) {
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

// WaitForWatches waits until our server has that many open watches of a type.
func (e *Env) WaitForWatches(t testing.TB, of schema.GroupVersionResource, want int) {
	t.Helper()
	e.Eventually(t, func(context.Context) error {
		open, err := e.Host.Audit().OpenWatches(hostcluster.Request{User: ServerUser, Group: of.Group, Resource: of.Resource})
		if err == nil && open != want {
			err = fmt.Errorf("%d watches of %s are open, want %d", open, of.GroupResource(), want)
		}
		return err
	})
}
