// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// startAnother runs another decorator of the same targets, with its own hook.
func (f *fixture) startAnother(handler hook.Handler, changes ...change) *fixture {
	f.Helper()
	other := *f
	other.Hook = hook.Serve(f, handler)
	other.RunDecorator(other.DecoratorSpec(changes...))
	return &other
}

// These are for a composite beside a decorator.
type (
	parentRequest   = hook.CompositeRequest
	compositeChange = harness.CompositeChange
)

// startComposite runs a CompositeController with a generated selector and ConfigMap children that
// are updated in place. It returns the name and the hook.
func (f *fixture) startComposite(parents schema.GroupVersionResource, answer func(parentRequest) object, changes ...compositeChange) (string, *hook.Server) {
	f.Helper()
	server := hook.Serve(f, hook.Answering(f, answer))
	composite := harness.Fixture{T: f.T, Env: env, Parents: parents, Hook: server, Namespace: f.Namespace}
	composite.RunComposite(composite.CompositeSpec(changes...))
	return composite.Controller.Name, server
}

// expectNoOp checks that further syncs of a target write nothing in the namespace. Events are sent
// later and do not count.
func (f *fixture) expectNoOp(name string, hooks ...*hook.Server) {
	f.Helper()
	f.expectNoOpAfter(func(mark string) { f.Touch(name, mark) }, hooks...)
}

// expectNoOpAfter is expectNoOp for an object into which touch writes a mark.
func (f *fixture) expectNoOpAfter(touch func(mark string), hooks ...*hook.Server) {
	f.Helper()
	env.Settle(f, touch, hooks...)
	from := env.AuditEnd(f)
	env.Settle(f, touch, hooks...)
	f.expectNoWrites(from)
}

// expectNoWrites checks that the server has written nothing in the namespace but events.
func (f *fixture) expectNoWrites(from hostcluster.Position) {
	f.Helper()
	for _, event := range env.AuditEvents(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace}) {
		if event.ObjectRef.Resource != "events" {
			f.Errorf("nothing should be written, but there was %s %s: %d", event.Verb, event.RequestURI, event.ResponseStatus.Code)
		}
	}
}

// labelled returns a desired ConfigMap with labels.
func labelled(name string, labels object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "labels": labels}, "data": object{"of": name}}
}
