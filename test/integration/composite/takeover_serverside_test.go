// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// startTakingOver returns a fixture whose parent has children that leave has written before the
// controller starts.
func startTakingOver(t *testing.T, leave func(*fixture, schema.GroupVersionResource, *unstructured.Unstructured), changes ...change) *fixture {
	t.Helper()
	f := prepare(t, hook.Serve(t, nil))
	parent := f.CreateParent("a", specimensOf(t, first))
	var left []unstructured.Unstructured
	for of, specimen := range specimens {
		child := &unstructured.Unstructured{Object: harness.FromYAML(t, specimen.first)}
		child.SetNamespace(f.Namespace)
		labels := child.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["controller-uid"] = string(parent.GetUID())
		child.SetLabels(labels)
		child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
		leave(f, of, child)
		left = append(left, *f.waitForChild(of, exists))
	}
	f.Hook.Handle(hook.OnceShown(left, answers(t, wantedChildren)))
	from := env.AuditEnd(f)
	f.RunComposite(f.CompositeSpec(changes...))
	f.waitUntilChildrenAreSent(left...)
	f.Settle("a")
	for of := range specimens {
		if writes := f.RequestLines(from, writesOf(of)); len(writes) > 0 {
			t.Errorf("what Metacontroller has left should be taken over as it is, but there was %v", writes)
		}
	}
	return f
}

// applyAsBefore writes a child as Metacontroller does with server-side apply.
func applyAsBefore(f *fixture, of schema.GroupVersionResource, child *unstructured.Unstructured) {
	f.Helper()
	_, err := env.Dynamic.Resource(of).Namespace(f.Namespace).
		Apply(f.Context(), "it", child, metav1.ApplyOptions{FieldManager: "metacontroller", Force: true})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) expectLaterDrops(replaced map[schema.GroupVersionResource]types.UID) {
	f.Helper()
	f.PatchParent("a", object{"spec": specimensOf(f, later)})
	for of, specimen := range specimens {
		if child := f.waitForChild(of, contains(harness.FromYAML(f, specimen.left))); child.GetUID() != replaced[of] {
			f.Errorf("the %s was replaced", child.GetKind())
		}
	}
}

func TestWhatServerSideApplyHasLeftIsTakenOver(t *testing.T) {
	t.Parallel()
	before := map[schema.GroupVersionResource]types.UID{}
	f := startTakingOver(t, func(f *fixture, of schema.GroupVersionResource, child *unstructured.Unstructured) {
		applyAsBefore(f, of, child)
		before[of] = f.addTheirs(of, specimens[of].others).GetUID()
	}, withSpecimens(v1alpha1.ChildUpdateInPlace), byServerSideApply)
	f.expectLaterDrops(before)
}

// When Metacontroller moves children to server-side apply, it removes the annotation with the last
// applied configuration. Their fields then have two owners, so Metacontroller cannot remove them
// any more.
func TestQ7WhatHasTwoOwnersIsPutRight(t *testing.T) {
	t.Parallel()
	before := map[schema.GroupVersionResource]types.UID{}
	f := startTakingOver(t, func(f *fixture, of schema.GroupVersionResource, child *unstructured.Unstructured) {
		client := env.Dynamic.Resource(of).Namespace(f.Namespace)
		recorded := child.DeepCopy()
		recorded.SetAnnotations(map[string]string{recordAnnotation: harness.JSON(f, child)})
		if _, err := client.Create(f.Context(), recorded, metav1.CreateOptions{FieldManager: "metacontroller"}); err != nil {
			f.Fatal(err)
		}
		remove := []byte(`[{"op":"remove","path":"/metadata/annotations/metacontroller.k8s.io~1last-applied-configuration"}]`)
		if _, err := client.Patch(f.Context(), "it", types.JSONPatchType, remove, metav1.PatchOptions{}); err != nil {
			f.Fatal(err)
		}
		applyAsBefore(f, of, child)
		before[of] = f.addTheirs(of, specimens[of].others).GetUID()
	}, withSpecimens(v1alpha1.ChildUpdateInPlace), byServerSideApply)
	f.expectLaterDrops(before)
}

// A field that the host stores in another form than the hook answers always looks different. It is
// applied once only.
func TestServerSideApplyDoesNotRepeatPhantomDifferences(t *testing.T) {
	t.Parallel()
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it, creationTimestamp: null, annotations: {}}, status: {replicas: 3}, spec: {selector: {matchLabels: {app: it}}, replicas: 0, strategy: {},
		template: {metadata: {labels: {app: it}, creationTimestamp: null}, spec: {securityContext: {}, nodeSelector: null, containers: [{name: app, image: app:v1, resources: {limits: {cpu: 1000m, memory: 1024Mi}},
			env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], livenessProbe: {httpGet: {path: /, port: 80.0}}}]}}}}`
	f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateInPlace), byServerSideApply)
	f.CreateParent("a", object{"children": []any{harness.FromYAML(t, deployment)}})
	f.waitForChild(deployments, exists)
	f.Settle("a")
	from := env.AuditEnd(f)
	f.addTheirs(deployments, specimens[deployments].others)
	f.Settle("a")
	f.Settle("a")
	if writes := f.RequestLines(from, writesOf(deployments)); len(writes) > 1 {
		t.Errorf("one request should show that nothing differs, but there were %v", writes)
	}
	if err := contains(harness.FromYAML(t, `{spec: {minReadySeconds: 5}}`))(f.waitForChild(deployments, exists)); err != nil {
		t.Error(err)
	}
}
