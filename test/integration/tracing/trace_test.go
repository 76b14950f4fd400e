// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

const secret = "correct-horse-battery"

func TestATraceLeadsFromTheEventToEachWrite(t *testing.T) {
	f := start(t, func(asked hook.CompositeRequest) harness.Object {
		return harness.Object{"status": harness.Object{"seen": true}, "children": []harness.Object{
			hook.ConfigMap(asked.Parent.GetName(), harness.Object{}), hook.ConfigMap(asked.Parent.GetName()+"-2", harness.Object{}),
		}}
	})
	f.CreateParent("a", harness.Object{})
	var spans map[string][]span
	env.Eventually(t, func(context.Context) error {
		call := firstCall(f)
		if call == nil {
			return errors.New("the hook was not called")
		}
		trace, _ := traceparent(call)
		if spans = collected.ofTrace(trace); len(spans["sync"]) != 1 {
			return fmt.Errorf("the sync of the call is not collected: %v", spans)
		}
		return nil
	})
	root := spans["sync"][0]
	expectAttributes(t, root, map[string]string{
		"metacontroller.controller": "CompositeController-" + f.Controller.Name, "metacontroller.cause": "parent changed",
		"k8s.object.kind": "Thing", "k8s.namespace.name": f.Namespace, "k8s.object.name": "a",
	})
	for name, want := range map[string]int{"queue": 1, "hook": 1, "plan": 1, "write": 3} {
		if len(spans[name]) != want {
			t.Fatalf("there are %d spans %s, want %d: %v", len(spans[name]), name, want, spans)
		}
		for _, one := range spans[name] {
			if one.parent != root.id || one.begin < root.begin || one.end > root.end {
				t.Errorf("%s is not within the sync: %+v", name, one)
			}
		}
	}
	if _, id := traceparent(firstCall(f)); id != spans["hook"][0].id {
		t.Errorf("the hook was told of span %s, want %s", id, spans["hook"][0].id)
	}
	expectAttributes(t, spans["hook"][0], map[string]string{"metacontroller.hook": "sync", "url.full": f.Hook.URL(harness.SyncPath) + "?xxxxx"})
	written := map[string]bool{}
	for _, write := range spans["write"] {
		written[write.attributes["metacontroller.operation"]+" "+write.attributes["k8s.object.kind"]+" "+write.attributes["k8s.object.name"]] = true
	}
	for _, want := range []string{"create ConfigMap a", "create ConfigMap a-2", "status Thing a"} {
		if !written[want] {
			t.Errorf("no span says %q: %v", want, written)
		}
	}
	expectNoSecret(t)
}

func TestASyncThatFailsSaysWhy(t *testing.T) {
	f := start(t, func(hook.CompositeRequest) harness.Object {
		return harness.Object{"status": harness.Object{}, "children": []harness.Object{{"kind": "ConfigMap"}}}
	})
	f.CreateParent("a", harness.Object{})
	env.Eventually(t, func(context.Context) error {
		for _, one := range collected.all() {
			if one.name == "sync" && one.attributes["k8s.namespace.name"] == f.Namespace && one.status != "" {
				return nil
			}
		}
		return errors.New("no span of a sync has an error")
	})
	expectNoSecret(t)
}

// start runs a controller whose hook has a secret in its query.
func start(t *testing.T, answer func(hook.CompositeRequest) harness.Object) *harness.Fixture {
	t.Helper()
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, hook.Answering(t, answer)))
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		url := *spec.Hooks.Sync.Webhook.URL + "?token=" + secret
		spec.Hooks.Sync.Webhook.URL = &url
	}))
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil {
			return errors.New("it does not watch its parents yet")
		}
		return nil
	})
	return &f
}

func firstCall(f *harness.Fixture) *hook.Call {
	for _, call := range f.Hook.Calls() {
		return &call
	}
	return nil
}

// traceparent returns the trace and the span that a hook was told of.
func traceparent(call *hook.Call) (trace, span string) {
	parts := strings.Split(call.Header.Get("Traceparent"), "-")
	if len(parts) != 4 {
		return "", ""
	}
	return parts[1], parts[2]
}

func expectAttributes(t *testing.T, of span, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if of.attributes[key] != value {
			t.Errorf("the attribute %s of %s is %q, want %q", key, of.name, of.attributes[key], value)
		}
	}
}

func expectNoSecret(t *testing.T) {
	t.Helper()
	for _, one := range collected.all() {
		if strings.Contains(fmt.Sprint(one), secret) {
			t.Errorf("the secret is in %+v", one)
		}
	}
}
