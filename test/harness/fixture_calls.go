// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// WaitForCalls waits until the fixture's hook was called so many times.
func (f *Fixture) WaitForCalls(count int) {
	f.Helper()
	f.Env.Eventually(f, func(context.Context) error {
		if calls := len(f.Hook.Calls()); calls < count {
			return fmt.Errorf("the hook was called %d times, want %d", calls, count)
		}
		return nil
	})
}

// WaitForRequest waits until a path of the fixture's hook was sent a request about a parent that
// fits, and returns it.
func WaitForRequest[R hook.Request](f *Fixture, path, parent string, fits func(R) bool) R {
	f.Helper()
	var found R
	f.Env.Eventually(f, func(context.Context) error {
		requests := hook.Requests[R](f, f.Hook, path, parent)
		i := slices.IndexFunc(requests, fits)
		if i < 0 {
			return fmt.Errorf("none of the %d calls of %s about %s is the expected one", len(requests), path, parent)
		}
		found = requests[i]
		return nil
	})
	return found
}

// TouchAnnotation is the annotation by which Settle changes parents. Each controller has one of its
// own: tests that share parents must not overwrite each other's changes before the hook sees them.
func (f *Fixture) TouchAnnotation() string {
	return "touched-" + cmp.Or(f.Controller.Name, "by-test")
}

// Touch changes an annotation of a parent.
func (f *Fixture) Touch(parent, value string) {
	f.Helper()
	f.PatchParent(parent, Object{"metadata": Object{"annotations": Object{f.TouchAnnotation(): value}}})
}

// Settle waits until the hooks were sent a parent as it is now and the sync of it is over. Without
// hooks it is the fixture's. It annotates the parent for that.
func (f *Fixture) Settle(parent string, hooks ...*hook.Server) {
	f.Helper()
	if len(hooks) == 0 {
		hooks = append(hooks, f.Hook)
	}
	f.Env.Settle(f, func(mark string) { f.Touch(parent, mark) }, hooks...)
}

// ExpectNoSyncError checks that there is no event about a failed sync of a parent. The events of
// another parent, which fails on purpose, come after those that are on their way.
func (f *Fixture) ExpectNoSyncError(parent string) {
	f.Helper()
	const later = "unsupported status code: 418"
	f.Hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(http.StatusTeapot, "") })
	f.CreateParent("later", Object{})
	f.Env.WaitForEvent(f, f.Namespace, "later", "SyncError", later)
	f.Env.ExpectNoSyncErrorBut(f, f.Namespace, parent, later)
}

// RequestLines returns the requests of our server to the host in the fixture's namespace that fit,
// as text. See Env.RequestLines.
func (f *Fixture) RequestLines(from hostcluster.Position, request hostcluster.Request) []string {
	f.Helper()
	request.Namespace = f.Namespace
	return f.Env.RequestLines(f, from, request)
}

// ParentRequests returns the requests of our server to the host about a parent, in short. See
// Env.Requests.
func (f *Fixture) ParentRequests(from hostcluster.Position, parent string) []string {
	f.Helper()
	return f.Env.Requests(f, from, hostcluster.Request{
		Group: f.Parents.Group, Resource: f.Parents.Resource, Namespace: f.Namespace, Name: parent,
	})
}
