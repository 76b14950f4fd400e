// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// fixture is a type of parents, a hook about them and a namespace.
type fixture struct {
	*testing.T
	parents   schema.GroupVersionResource
	hook      *hook.Server
	namespace string
}

// object is JSON as hooks read and write it.
type object = map[string]any

// request is what a hook is sent, without what is not looked at.
type request struct {
	Parent   unstructured.Unstructured             `json:"parent"`
	Children map[string]map[string]json.RawMessage `json:"children"`
}

func prepare(t *testing.T, handler hook.Handler) *fixture {
	t.Helper()
	return &fixture{T: t, parents: env.Install(t, harness.CRD{Kind: "Thing"}), hook: hook.Serve(t, handler), namespace: env.Namespace(t)}
}

// start runs a controller.
func (f *fixture) start(changes ...func(*v1alpha1.CompositeControllerSpec)) {
	f.Helper()
	harness.CreateController(f, env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers(), f.controller(changes...))
}

// controller is one with ConfigMap children, updated in place, and a generated selector.
func (f *fixture) controller(changes ...func(*v1alpha1.CompositeControllerSpec)) *v1alpha1.CompositeController {
	spec := v1alpha1.CompositeControllerSpec{
		ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: f.parents.GroupVersion().String(), Resource: f.parents.Resource,
		}},
		ChildResources: []v1alpha1.CompositeControllerChildResourceRule{{
			ResourceRule:   v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"},
			UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: v1alpha1.ChildUpdateInPlace},
		}},
		GenerateSelector: ptr.To(true),
		Hooks: &v1alpha1.CompositeControllerHooks{
			// Megabytes take their time on a slow machine, and a call that is given up is made again.
			Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(f.hook.URL("/sync")), Timeout: ptr.To(v1alpha1.Duration("2m"))}},
		},
	}
	for _, change := range changes {
		change(&spec)
	}
	return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")}, Spec: spec}
}

// parent creates a parent whose spec has a value.
func (f *fixture) parent(name, value string) {
	f.Helper()
	if err := f.createParent(name, value, nil); err != nil {
		f.Fatalf("create parent %s: %v", name, err)
	}
}

func (f *fixture) createParent(name, value string, labels map[string]string) error {
	parent := &unstructured.Unstructured{Object: object{
		"apiVersion": f.parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": name}, "spec": object{"value": value},
	}}
	parent.SetLabels(labels)
	_, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Create(f.Context(), parent, metav1.CreateOptions{})
	return err
}

// set changes the value in a parent's spec.
func (f *fixture) set(name, value string) {
	f.Helper()
	f.patch(name, object{"spec": object{"value": value}})
}

// touch changes a parent in a way that has it synced and makes no difference to its children.
func (f *fixture) touch(name, value string) {
	f.Helper()
	f.patch(name, object{"metadata": object{"annotations": object{"touched": value}}})
}

func (f *fixture) patch(name string, patch object) {
	f.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Patch(f.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		f.Fatalf("patch parent %s: %v", name, err)
	}
}

// reaches returns how long it takes until a ConfigMap has a value.
func (f *fixture) reaches(name, value string) time.Duration {
	f.Helper()
	started := time.Now()
	env.Eventually(f, func(ctx context.Context) error {
		found, err := env.Kube.CoreV1().ConfigMaps(f.namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && found.Data["value"] != value {
			err = fmt.Errorf("ConfigMap %s has the value %.100q, not %.100q", name, found.Data["value"], value)
		}
		return err
	})
	return time.Since(started)
}

// settle waits until a sync of a parent is over that saw all that went before, and returns how often the hook has been
// called by then. It is called about the last mark only when the sync that was about the one before is over.
func (f *fixture) settle(name string) int {
	f.Helper()
	env.Settle(f, f.hook, func(mark string) { f.touch(name, mark) })
	return len(f.hook.Calls())
}

// slowness is how many times as long the host takes now as it does on an idle machine like the one on which the bounds of
// times were set, and at least one.
func (f *fixture) slowness() float64 {
	f.Helper()
	const creates, idle = 200, 800 * time.Millisecond
	client := env.Kube.CoreV1().ConfigMaps(env.Namespace(f))
	started := time.Now()
	for range creates {
		if _, err := client.Create(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "pace-"}}, metav1.CreateOptions{}); err != nil {
			f.Fatal(err)
		}
	}
	return max(float64(time.Since(started))/float64(idle), 1)
}

// writes are those of the server to a resource of the fixture's namespace.
func (f *fixture) writes(from hostcluster.Position, of schema.GroupVersionResource) []string {
	f.Helper()
	return env.Requests(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Group: of.Group, Resource: of.Resource, Namespace: f.namespace})
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// configMap is a desired ConfigMap.
func configMap(name, value string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": object{"value": value}}
}

// oneConfigMap answers one ConfigMap that is named like the parent and has its value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	return object{"children": []object{configMap(asked.Parent.GetName(), value)}}
}
