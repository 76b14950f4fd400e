// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// release is what a team keeps in Git: a CustomResourceDefinition, a controller with a finalize hook, and parents. Each
// parent has a ConfigMap as its child.
type release struct {
	name      string // of the controller
	namespace string // of the parents
	group     string // of the type of the parents
	// shared is true if other releases have parents of the type, too, so that none of them has the definition.
	shared  bool
	parents []string
	hook    *hook.Server
}

// newRelease returns a release whose hook serves until the test ends. Nothing of it is in the cluster.
func newRelease(t *testing.T) *release {
	t.Helper()
	name := harness.Name("buckets")
	return &release{
		name: name, namespace: env.Namespace(t), group: name + ".example.com", parents: []string{"first", "second"},
		hook: hook.Serve(t, harness.Slowly(answer)),
	}
}

// answer is the hook: a finalize call gets no children, and finalized once there are none.
func answer(_ context.Context, call hook.Call) hook.Answer {
	var asked hook.CompositeRequest
	if err := call.Decode(&asked); err != nil {
		return hook.Text(400, err.Error())
	}
	if call.Path == harness.FinalizePath {
		return hook.JSON(hook.Object{"children": []any{}, "finalized": len(asked.Children["ConfigMap.v1"]) == 0})
	}
	size, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "size")
	return hook.JSON(hook.Object{
		"status": hook.Object{"conditions": []any{hook.Object{"type": "Ready", "status": "True", "reason": "Made"}}},
		"children": []any{
			hook.ConfigMap(asked.Parent.GetName(), hook.Object{"size": size}),
		},
	})
}

// sharing returns a release whose type exists, and has parents of other releases, too.
func sharing(t *testing.T, group string) *release {
	t.Helper()
	r := newRelease(t)
	r.group, r.shared = group, true
	return r
}

// definition is the CustomResourceDefinition. Tools wait for its objects as docs/gitops.md says.
func (r *release) definition() string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Bucket, plural: buckets, singular: bucket}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            default: {observedGeneration: -1}
            properties: {observedGeneration: {type: integer, format: int64}}
`, r.group)
}

// controller is the CompositeController.
func (r *release) controller() string {
	return fmt.Sprintf(`apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec:
  generateSelector: true
  paused: false
  parentResource: {apiVersion: %[2]s/v1, resource: buckets, labelSelector: {matchLabels: {release: %[1]s}}}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks:
    sync: {webhook: {url: %[3]q}}
    finalize: {webhook: {url: %[4]q}}
`, r.name, r.group, r.hook.URL(harness.SyncPath), r.hook.URL(harness.FinalizePath))
}

// parent is one parent.
func (r *release) parent(name, size string) string {
	return fmt.Sprintf(`apiVersion: %s/v1
kind: Bucket
metadata: {name: %s, namespace: %s, labels: {release: %s}}
spec: {size: %q}
`, r.group, name, r.namespace, r.name, size)
}

// manifests are all of it, with parents of a size.
func (r *release) manifests(size string) []string {
	all := []string{r.controller()}
	if !r.shared {
		all = append(all, r.definition())
	}
	for _, name := range r.parents {
		all = append(all, r.parent(name, size))
	}
	return all
}

// objects returns manifests as objects.
func objects(t *testing.T, manifests ...string) (all []*unstructured.Unstructured) {
	t.Helper()
	for _, manifest := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

// waitUntilSynced waits until the children of all parents have a size.
func (r *release) waitUntilSynced(t *testing.T, size string) {
	t.Helper()
	for _, name := range r.parents {
		env.WaitForConfigMap(t, r.namespace, name, harness.HasData("size", size))
	}
}

var compositeControllers = schema.GroupVersionResource{
	Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers",
}

// waitUntilGone waits until the controller and the parents are gone.
func (r *release) waitUntilGone(t *testing.T) {
	t.Helper()
	env.WaitUntilControllerIsGone(t, harness.Composite(r.name))
	buckets := schema.GroupVersionResource{Group: r.group, Version: "v1", Resource: "buckets"}
	env.Eventually(t, func(ctx context.Context) error {
		left, err := env.Dynamic.Resource(buckets).Namespace(r.namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // the type is gone, too
			return nil
		}
		if err != nil || len(left.Items) == 0 {
			return err
		}
		return fmt.Errorf("%d parents should be gone; the first is %v", len(left.Items), left.Items[0])
	})
}

// checkFinalized returns an error if a parent that is gone was not finalized to the end: the last call of the finalize
// hook saw no child, and no event says that the finalizer was removed without it.
func (r *release) checkFinalized(t *testing.T) error {
	t.Helper()
	for _, name := range r.parents {
		calls := hook.Requests[hook.CompositeRequest](t, r.hook, harness.FinalizePath, name)
		if len(calls) == 0 {
			return fmt.Errorf("the finalize hook was not called about %s", name)
		}
		if last := calls[len(calls)-1]; len(last.Children["ConfigMap.v1"]) > 0 {
			return fmt.Errorf("after %d calls, %s still had children", len(calls), name)
		}
	}
	events, err := env.Kube.CoreV1().Events(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if event.Reason == "NotFinalized" {
			return fmt.Errorf("an event about %s says: %s", event.InvolvedObject.Name, event.Message)
		}
	}
	return nil
}

// broken is a controller that can never run, because the cluster lacks the type of its parents.
func (r *release) broken() string {
	return strings.Replace(r.controller(), "resource: buckets", "resource: pails", 1)
}

// waitsFor bounds what a tool waits for. A tool that fails early does so in a fraction of it.
const waitsFor = 2 * time.Minute
