// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// fixture is a controller of a test: its parent type, its hook and a namespace.
type fixture struct {
	*testing.T
	parents    schema.GroupVersionResource
	hook       *hook.Server
	namespace  string
	controller *v1alpha1.CompositeController
}

// object is JSON as hooks read and write it.
type object = map[string]any

// request is what a sync hook is sent.
type request struct {
	Controller object                       `json:"controller"`
	Parent     unstructured.Unstructured    `json:"parent"`
	Children   map[string]map[string]object `json:"children"`
	Related    map[string]map[string]object `json:"related"`
	Finalizing bool                         `json:"finalizing"`
}

// answers makes a hook out of a function from request to answer.
func answers(t testing.TB, answer func(request) object) hook.Handler {
	return hook.Answering(t, answer)
}

// start runs a controller with ConfigMap children, updated in place, and a generated
// selector. Changes of the spec can be made before it is created.
func start(t *testing.T, handler hook.Handler, changes ...func(*v1alpha1.CompositeControllerSpec)) *fixture {
	t.Helper()
	f := prepare(t, hook.Serve(t, handler))
	f.controller = f.create(f.spec(changes...))
	return f
}

// prepare makes all of a fixture but its controller.
func prepare(t *testing.T, server *hook.Server) *fixture {
	t.Helper()
	return &fixture{
		T:         t,
		parents:   env.Install(t, harness.CRD{Kind: "Thing"}),
		hook:      server,
		namespace: env.Namespace(t),
	}
}

// in is the fixture for a subtest.
func (f *fixture) in(t *testing.T) *fixture {
	inner := *f
	inner.T = t
	return &inner
}

func (f *fixture) spec(changes ...func(*v1alpha1.CompositeControllerSpec)) v1alpha1.CompositeControllerSpec {
	spec := v1alpha1.CompositeControllerSpec{
		ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: f.parents.GroupVersion().String(), Resource: f.parents.Resource,
		}},
		ChildResources:   []v1alpha1.CompositeControllerChildResourceRule{childRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
		GenerateSelector: ptr.To(true),
		Hooks: &v1alpha1.CompositeControllerHooks{
			Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(f.hook.URL("/sync"))}},
		},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

func childRule(apiVersion, resource string, method v1alpha1.ChildUpdateMethod) v1alpha1.CompositeControllerChildResourceRule {
	return v1alpha1.CompositeControllerChildResourceRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource},
		UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: method},
	}
}

func (f *fixture) create(spec v1alpha1.CompositeControllerSpec) *v1alpha1.CompositeController {
	f.Helper()
	return f.createAs(harness.Name("test"), spec)
}

func (f *fixture) createAs(name string, spec v1alpha1.CompositeControllerSpec) *v1alpha1.CompositeController {
	f.Helper()
	return harness.CreateController(f, env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	})
}

// parent creates a parent with a spec.
func (f *fixture) parent(name string, spec object) *unstructured.Unstructured {
	f.Helper()
	parent := &unstructured.Unstructured{Object: object{
		"apiVersion": f.parents.GroupVersion().String(), "kind": "Thing",
		"metadata": object{"name": name}, "spec": spec,
	}}
	created, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Create(f.Context(), parent, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create parent %s: %v", name, err)
	}
	return created
}

// patchParent applies a JSON merge patch to a parent.
func (f *fixture) patchParent(name string, patch string) {
	f.Helper()
	_, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).
		Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("patch parent %s: %v", name, err)
	}
}

func (f *fixture) getParent(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return env.Dynamic.Resource(f.parents).Namespace(f.namespace).Get(ctx, name, metav1.GetOptions{})
}

func (f *fixture) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return env.Kube.CoreV1().ConfigMaps(f.namespace).Get(ctx, name, metav1.GetOptions{})
}

// waitForConfigMap waits until a ConfigMap is there and as it should be.
func (f *fixture) waitForConfigMap(name string, check func(*corev1.ConfigMap) error) *corev1.ConfigMap {
	f.Helper()
	return env.WaitForConfigMap(f, f.namespace, name, check)
}

func (f *fixture) waitUntilGone(name string) {
	f.Helper()
	env.WaitUntilConfigMapIsGone(f, f.namespace, name)
}

// configMapChild is a desired ConfigMap.
func configMapChild(name string, data object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": data}
}

// oneConfigMap answers one ConfigMap named like the parent that holds its spec.value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	return object{
		"status":   object{"children": len(asked.Children["ConfigMap.v1"])},
		"children": []object{configMapChild(asked.Parent.GetName(), object{"value": value})},
	}
}

func hasData(key, value string) func(*corev1.ConfigMap) error {
	return func(configMap *corev1.ConfigMap) error {
		if configMap.Data[key] != value {
			return fmt.Errorf("ConfigMap %s should have %s=%q, but has %v", configMap.Name, key, value, configMap.Data)
		}
		return nil
	}
}

func mustJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
