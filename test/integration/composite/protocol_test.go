// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// version sets the protocol version of the sync hook.
func version(version v1alpha1.HookVersion) change {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Version = &version }
}

// waitForKeys waits until the last request about a parent has ConfigMaps under these keys.
func (f *fixture) waitForKeys(parent string, keys ...string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		var last []string
		for _, call := range f.Hook.Calls() {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if asked.Parent.GetName() == parent {
				last = slices.Sorted(maps.Keys(asked.Children["ConfigMap.v1"]))
			}
		}
		if !slices.Equal(last, keys) {
			return fmt.Errorf("the hook was last sent ConfigMaps %q of %s, want %q", last, parent, keys)
		}
		return nil
	})
}

// The version can be changed while the controller runs.
func TestProtocolVersionsOfANamespacedParent(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), version(v1alpha1.HookVersionV2))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.waitForKeys("a", f.Namespace+"/a")

	f.PatchController(object{"spec": object{"hooks": object{"sync": object{"version": "v1"}}}})
	f.waitForKeys("a", "a")
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
}

func TestProtocolVersionsOfAClusterScopedParent(t *testing.T) {
	t.Parallel()
	namespace := env.Namespace(t)
	for _, speaks := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			child := hook.ConfigMap(string(speaks), object{"value": "1"})
			child["metadata"].(object)["namespace"] = namespace
			f := &fixture{harness.Fixture{
				T: t, Env: env, Parents: env.Install(t, harness.CRD{Kind: "Thing", ClusterScoped: true}), Namespace: namespace,
				Hook: hook.Serve(t, answers(t, func(request) object { return object{"children": []object{child}} })),
			}}
			f.RunComposite(f.CompositeSpec(version(speaks)))
			_, err := env.Dynamic.Resource(f.Parents).Create(t.Context(), &unstructured.Unstructured{Object: object{
				"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": "a"},
			}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			f.WaitForConfigMap(string(speaks), harness.HasData("value", "1"))
			f.waitForKeys("a", namespace+"/"+string(speaks))
		})
	}
}

// mode sets how strictly answers of the sync hook are decoded.
func mode(mode v1alpha1.ResponseUnmarshallMode) change {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Webhook.ResponseUnmarshallMode = &mode }
}

// A misspelt field deletes all children, as with Metacontroller, unless answers are decoded
// strictly.
func TestQ32MisspeltChildrenDeleteUnlessReadStrictly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change change
		says   string // empty if the children are deleted
	}{
		"v1":           {version(v1alpha1.HookVersionV1), ""},
		"v1 in strict": {mode(v1alpha1.ResponseUnmarshallModeStrict), `unknown field "chlidren" (did you mean "children"?); with responseUnMarshallMode: strict, unknown`},
		"v2":           {version(v1alpha1.HookVersionV2), `unknown field "chlidren" (did you mean "children"?); with version: v2, unknown`},
		"v2 in loose": {func(spec *v1alpha1.CompositeControllerSpec) {
			version(v1alpha1.HookVersionV2)(spec)
			mode(v1alpha1.ResponseUnmarshallModeLoose)(spec)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, oneConfigMap), test.change)
			f.CreateParent("a", object{"value": "1"})
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
			f.Hook.Handle(answers(t, func(asked request) object {
				answer := oneConfigMap(asked)
				return object{"status": answer["status"], "chlidren": answer["children"]}
			}))
			f.PatchParent("a", object{"spec": object{"value": "2"}})
			if test.says == "" {
				f.WaitUntilConfigMapIsGone("a")
				env.WaitForEvent(t, f.Namespace, "a", "ChildrenDeleted", `It has the field "chlidren", which is not read: did you mean "children"?`)
				return
			}
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", test.says)
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
		})
	}
}

func TestQ38ChildrenListedTwice(t *testing.T) {
	t.Parallel()
	twice := func(request) object {
		return object{"children": []object{
			hook.ConfigMap("a", object{"value": "first"}), hook.ConfigMap("b", object{"value": "1"}), hook.ConfigMap("a", object{"value": "last"}),
		}}
	}
	t.Run("loose: the last counts and an event tells", func(t *testing.T) {
		t.Parallel()
		f := start(t, answers(t, twice))
		f.CreateParent("p", object{})
		f.WaitForConfigMap("a", harness.HasData("value", "last"))
		f.WaitForConfigMap("b", harness.HasData("value", "1"))
		event := env.WaitForEvent(t, f.Namespace, "p", "DuplicateChild", "ConfigMap "+f.Namespace+"/a")
		if event.Type != corev1.EventTypeWarning {
			t.Errorf("the event should be a Warning, but is %s", event.Type)
		}
	})
	t.Run("strict: the answer is refused", func(t *testing.T) {
		t.Parallel()
		f := start(t, answers(t, twice), mode(v1alpha1.ResponseUnmarshallModeStrict))
		f.CreateParent("p", object{})
		env.WaitForEvent(t, f.Namespace, "p", "SyncError", "the hook lists ConfigMap "+f.Namespace+"/a more than once")
		found, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "controller-uid"})
		if err != nil || len(found.Items) > 0 {
			t.Errorf("no child should be there, but there are %v: %v", found.Items, err)
		}
	})
}

// Metacontroller panics, again after each restart.
func TestQ1ANullChildIsTheErrorOfOneParent(t *testing.T) {
	t.Parallel()
	for _, speaks := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
				var asked request
				if err := call.Decode(&asked); err != nil {
					t.Error(err)
				}
				if asked.Parent.GetName() == "bad" {
					return hook.Text(http.StatusOK, `{"children":[null]}`)
				}
				return hook.JSON(oneConfigMap(asked))
			}, version(speaks))
			f.CreateParent("bad", object{})
			env.WaitForEvent(t, f.Namespace, "bad", "SyncError", `children[0] is null`)
			f.CreateParent("good", object{"value": "1"})
			f.WaitForConfigMap("good", harness.HasData("value", "1"))
		})
	}
}

// A URL may contain credentials.
func TestEventsDoNotTellCredentialsOfURLs(t *testing.T) {
	t.Parallel()
	f := start(t, func(context.Context, hook.Call) hook.Answer { return hook.Text(http.StatusForbidden, "no") },
		func(spec *v1alpha1.CompositeControllerSpec) {
			url := *spec.Hooks.Sync.Webhook.URL
			spec.Hooks.Sync.Webhook.URL = ptr.To("http://t0ken@" + url[len("http://"):] + "?key=s3cret")
		})
	f.CreateParent("a", object{})
	event := env.WaitForEvent(t, f.Namespace, "a", "SyncError", "unsupported status code: 403 body: no")
	for _, secret := range []string{"t0ken", "s3cret"} {
		if strings.Contains(event.Message, secret) {
			t.Errorf("the event tells %s: %s", secret, event.Message)
		}
	}
}
