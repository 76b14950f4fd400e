// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// A timeout that cannot be parsed is refused. If it were stored, clients could not read any
// controller.
func TestQ22TimeoutThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object { return object{} })
	for _, timeout := range []string{"10 seconds", "1d", "5", "fast"} {
		controller := s.Parse(things)
		if err := unstructured.SetNestedField(controller, timeout, "spec", "hooks", "sync", "webhook", "timeout"); err != nil {
			t.Fatal(err)
		}
		_, err := env.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers")).
			Create(t.Context(), &unstructured.Unstructured{Object: controller}, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.hooks.sync.webhook.timeout") {
			t.Errorf("timeout %q: %v, want the field to be called invalid", timeout, err)
		}
	}
	s.Create(things)
	s.Patch(theController, `{spec: {hooks: {sync: {webhook: {timeout: 1m30s}}}}}`)
	s.Create(aThing)
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(1)))
}

func TestQ31NullStatusErasesTheStatus(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]object{"null": {"status": nil}, "absent": {}, "empty": {"status": object{}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, func(asked object) object {
				if scenario.At(asked, "parent", "spec", "erase") == true {
					return answer
				}
				return object{"status": object{"phase": "up", "observedGeneration": 99}}
			})
			s.Create(things + "\n---\n" + aThing)
			s.Exists(theThing, scenario.Has("status", object{"phase": "up", "observedGeneration": int64(1)}))
			s.Patch(theThing, `{spec: {erase: true}}`)
			s.Exists(theThing, scenario.Has("status", object{"observedGeneration": int64(2)}))
		})
	}
}

// An answer without children, or none at all, deletes all children.
func TestQ32EmptyAnswersMeanNoChildren(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"null", "{}"} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, func(object) object { return object{"children": list{hook.ConfigMap("a", nil)}} })
			s.Create(things + "\n---\n" + aThing)
			s.Exists(scenario.ConfigMap("a"))
			s.Hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(200, body) })
			s.Patch(theThing, `{spec: {value: "2"}}`)
			s.Gone(scenario.ConfigMap("a"))
		})
	}
}

func TestQ42HooksAroundChildUpdatesAreAcceptedAndNotCalled(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object { return object{"children": list{hook.ConfigMap("a", nil)}} })
	s.Say("$HOOKS", "preUpdateChild: {webhook: {url: $HOOK/pre}}, postUpdateChild: {webhook: {url: $HOOK/post}}")
	out := env.Apply(t, s.Text(things))
	t.Cleanup(func() {
		err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Delete(context.WithoutCancel(t.Context()), s.Unique, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	for _, field := range []string{"spec.hooks.preUpdateChild", "spec.hooks.postUpdateChild"} {
		if want := field + ": has no effect: the server never calls this hook"; !strings.Contains(out, want) {
			t.Errorf("the author is not warned that %s:\n%s", want, out)
		}
	}
	s.Exists(theController, scenario.Has("spec.hooks.preUpdateChild.webhook.url", s.Hook.URL("/pre")))
	s.Create(aThing)
	s.Exists(scenario.ConfigMap("a"))
	s.Patch(scenario.ConfigMap("a"), `{data: {more: theirs}}`)
	s.Patch(theThing, `{spec: {changed: true}}`)
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(2)))
	if s.Calls("/pre")+s.Calls("/post") > 0 {
		t.Error("a hook was called that never was")
	}
}

// Hooks are sent the present controller, also when only its metadata changed. Such a change does
// not restart the controller.
func TestQ43HooksAreSentTheControllersMetadataAsItIs(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(asked object) object {
		note := scenario.At(asked, "controller", "metadata", "annotations", "note")
		return object{"status": object{"note": note}}
	})
	s.Create(things + "\n---\n" + aThing)
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(1)))
	s.Patch(theController, `{metadata: {annotations: {note: fresh}}}`)
	touches := 0
	s.Exists(theThing, func(thing *unstructured.Unstructured) error {
		if err := scenario.Has("status.note", "fresh")(thing); err == nil {
			return nil
		}
		touches++ // nothing says when the change has arrived
		s.Patch(theThing, fmt.Sprintf(`{metadata: {annotations: {touched: "%d"}}}`, touches))
		return fmt.Errorf("the hook was not sent the annotation, the status is %v", thing.Object["status"])
	})
	// Events are written in order: an event of another controller comes after all events of this
	// one.
	s.Say("$CONTROLLER", "$NAME-later")
	s.Say("$SELECTOR", "labelSelector: {matchLabels: {nobody: has}}")
	s.Create(things)
	s.Event(ref{APIVersion: theController.APIVersion, Kind: theController.Kind, Name: "$NAME-later"}, "Started", "Started controller: ")
	events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{
		FieldSelector: "reason=Stopping,involvedObject.name=" + s.Unique,
	})
	if err != nil || len(events.Items) > 0 {
		t.Errorf("an annotation restarts the controller: %v, %v", events.Items, err)
	}
}

// The field is called responseUnMarshallMode, capital M and all.
func TestQ45ResponseUnMarshallModeKeepsItsName(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]bool{"strict": true, "loose": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, func(object) object { return object{"childrn": list{}, "status": object{"ok": true}} })
			s.Say("$WEBHOOK", "url: $HOOK/sync, responseUnMarshallMode: "+mode)
			created := s.Create(things)
			if got := scenario.At(created.Object, "spec", "hooks", "sync", "webhook", "responseUnMarshallMode"); got != mode {
				t.Errorf("the mode is stored as %v", got)
			}
			s.Create(aThing)
			if refused {
				s.Event(theThing, "SyncError", "childrn")
			} else {
				s.Exists(theThing, scenario.Has("status.ok", true))
			}
		})
	}
}

// A hook given by its Service is called at <protocol>://<name>.<namespace>:<port><path>, without
// ".svc". Here, name and namespace form an IP address on which the test listens.
func TestQ49ServiceFormOfAWebhookHasNoSVC(t *testing.T) {
	t.Parallel()
	s := withThings(t, nil)
	s.Say("$WEBHOOK", `service: {name: hook, namespace: shop, port: 8080}, path: /by/service`)
	s.Create(things + "\n---\n" + aThing)
	s.Event(theThing, "SyncError", "http://hook.shop:8080/by/service")
}

// The default port is 80, also with https. There it is rarely intended, so a warning says so.
func TestQ49PortOfAServiceIs80AlsoWithHTTPS(t *testing.T) {
	t.Parallel()
	for protocol, warned := range map[string]bool{"http": false, "https": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, nil)
			s.Say("$WEBHOOK", `service: {name: "127", namespace: "0.0.1", protocol: `+protocol+`}, path: /sync`)
			out := env.Apply(t, s.Text(things), "--dry-run=server")
			if got := strings.Contains(out, "spec.hooks.sync.webhook.service.port"); got != warned {
				t.Errorf("the author is told about the port: %v, want %v\n%s", got, warned, out)
			}
			s.Create(things + "\n---\n" + aThing)
			s.Event(theThing, "SyncError", protocol+"://127.0.0.1:80/sync")
		})
	}
}

// The host drops a null or replaces it by a default. That is no difference: a child with a null is
// neither written nor replaced with each sync.
func TestQ19NullsLeadToNoLoop(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"InPlace", "Recreate"} {
		t.Run(method, func(t *testing.T) {
			underBothEngines(t, func(t *testing.T, s *scenario.Scenario) {
				s.Define(harness.CRD{Kind: "Thing"})
				s.Say("$METHOD", method)
				s.Answers(answers{"/sync": func(asked object) object {
					child := hook.ConfigMap("a", object{"kept": scenario.At(asked, "parent", "spec", "kept"), "never": nil})
					child["immutable"], child["metadata"].(object)["annotations"] = nil, nil
					return object{"children": list{child}}
				}})
				s.Create(things + "\n---\n" + aThing + `spec: {kept: "1"}`)
				s.Exists(scenario.ConfigMap("a"), scenario.Has("data.kept", "1"))
				s.Patch(theThing, `{spec: {kept: "2"}}`)
				before := s.Exists(scenario.ConfigMap("a"), scenario.Has("data.kept", "2"))

				s.Settle(theThing)
				from := env.AuditEnd(t)
				for range 2 {
					s.Settle(theThing)
				}
				writes, err := env.Host.Audit().Find(from, hostcluster.Request{
					User: harness.ServerUser, Verbs: hostcluster.Writes(), Resource: "configmaps", Namespace: s.Namespace,
				})
				if err != nil || len(writes) > 0 {
					t.Errorf("the child is written to %d times, also when nothing changes: %v", len(writes), err)
				}
				if after := s.Exists(scenario.ConfigMap("a")); after.GetUID() != before.GetUID() {
					t.Error("the child was replaced")
				}
			})
		})
	}
}
