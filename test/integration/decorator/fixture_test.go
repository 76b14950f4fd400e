// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// fixture is a controller of a test: its target type, its hook and a namespace.
type fixture struct {
	*testing.T
	targets    schema.GroupVersionResource
	hook       *hook.Server
	namespace  string
	controller *v1alpha1.DecoratorController
}

// object is JSON as hooks read and write it.
type object = map[string]any

// request is what a hook is sent.
type request struct {
	Controller  object                       `json:"controller"`
	Object      unstructured.Unstructured    `json:"object"`
	Attachments map[string]map[string]object `json:"attachments"`
	Related     map[string]map[string]object `json:"related"`
	// Parent is the target in requests to a customize hook.
	Parent     unstructured.Unstructured `json:"parent"`
	Finalizing bool                      `json:"finalizing"`
}

// answers makes a hook out of a function from request to answer.
func answers(t testing.TB, answer func(request) object) hook.Handler {
	return hook.Answering(t, answer)
}

// change is a change of a spec before it is created.
type change = func(*v1alpha1.DecoratorControllerSpec)

// start runs a controller whose targets are all objects of a type of the test's own in its
// namespace, and whose attachments are ConfigMaps that are updated in place.
func start(t *testing.T, handler hook.Handler, changes ...change) *fixture {
	t.Helper()
	f := prepare(t, harness.CRD{Kind: "Thing"}, handler)
	f.controller = f.create(f.spec(changes...))
	return f
}

// prepare makes all of a fixture but its controller.
func prepare(t *testing.T, crd harness.CRD, handler hook.Handler) *fixture {
	t.Helper()
	return &fixture{T: t, targets: env.Install(t, crd), hook: hook.Serve(t, handler), namespace: env.Namespace(t)}
}

func (f *fixture) spec(changes ...change) v1alpha1.DecoratorControllerSpec {
	spec := v1alpha1.DecoratorControllerSpec{
		Resources: []v1alpha1.DecoratorControllerResourceRule{{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: f.targets.GroupVersion().String(), Resource: f.targets.Resource,
		}}},
		Attachments: []v1alpha1.DecoratorControllerAttachmentRule{attachmentRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
		Hooks:       &v1alpha1.DecoratorControllerHooks{Sync: f.hookAt("/sync")},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

func (f *fixture) hookAt(path string) *v1alpha1.Hook {
	return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(f.hook.URL(path))}}
}

func attachmentRule(apiVersion, resource string, method v1alpha1.ChildUpdateMethod) v1alpha1.DecoratorControllerAttachmentRule {
	return v1alpha1.DecoratorControllerAttachmentRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource},
		UpdateStrategy: &v1alpha1.DecoratorControllerAttachmentUpdateStrategy{Method: method},
	}
}

func (f *fixture) create(spec v1alpha1.DecoratorControllerSpec) *v1alpha1.DecoratorController {
	f.Helper()
	return f.createNamed(harness.Name("test"), spec)
}

func (f *fixture) createNamed(name string, spec v1alpha1.DecoratorControllerSpec) *v1alpha1.DecoratorController {
	f.Helper()
	return harness.CreateController(f, env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers(), &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	})
}

// target creates a target with metadata and a spec.
func (f *fixture) target(name string, metadata, spec object) *unstructured.Unstructured {
	f.Helper()
	all := object{"name": name}
	for key, value := range metadata {
		all[key] = value
	}
	created, err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).Create(f.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": f.targets.GroupVersion().String(), "kind": "Thing", "metadata": all, "spec": spec,
	}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create target %s: %v", name, err)
	}
	return created
}

// patch applies a JSON merge patch to a target.
func (f *fixture) patch(name string, patch object, subresources ...string) {
	f.Helper()
	_, err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).
		Patch(f.Context(), name, types.MergePatchType, []byte(mustJSON(f, patch)), metav1.PatchOptions{}, subresources...)
	if err != nil {
		f.Fatalf("patch target %s: %v", name, err)
	}
}

// waitFor waits until a target is as it should be.
func (f *fixture) waitFor(name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	f.Helper()
	var found *unstructured.Unstructured
	env.Eventually(f, func(ctx context.Context) (err error) {
		if found, err = env.Dynamic.Resource(f.targets).Namespace(f.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return check(found)
	})
	return found
}

// delete deletes a target, which may stay until its finalizers are gone.
func (f *fixture) delete(name string) {
	f.Helper()
	if err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatalf("delete target %s: %v", name, err)
	}
}

func (f *fixture) waitUntilGone(name string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		found, err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("target %s should be gone: %v %v", name, found, err)
	})
}

// configMap is a desired ConfigMap.
func configMap(name string, data object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": data}
}

// oneConfigMap answers one ConfigMap named like the target that holds its spec.value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
	return object{"attachments": []object{configMap(asked.Object.GetName(), object{"value": value})}}
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
