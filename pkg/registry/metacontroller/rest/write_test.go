// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

func TestAnObjectReadsBackAsItWasWritten(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		sent := kind.named(t, "a")
		created := create(t, kind, sent)
		if created.GetGeneration() != 1 || created.GetUID() == "" {
			t.Errorf("generation = %d, uid = %q, want 1 and some", created.GetGeneration(), created.GetUID())
		}
		if diff := cmp.Diff(content(sent), content(created)); diff != "" {
			t.Errorf("the answer to the create differs from what was sent (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(created, get(t, kind, "a")); diff != "" {
			t.Errorf("reading gives another object than creating (-want +got):\n%s", diff)
		}
		if _, err := kind.client.Create(t.Context(), sent, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("creating it again gives %v, want AlreadyExists", err)
		}
	})
}

func TestEmptyValuesReadBackAsTheyWereWritten(t *testing.T) {
	empty := map[string]string{
		"compositecontrollers": `
spec:
  parentResource:
    apiVersion: example.com/v1
    resource: foos
    labelSelector: {matchLabels: {}, matchExpressions: [{key: a, operator: Exists, values: []}]}
  childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: "", apply: "",
    statusChecks: {conditions: []}}}]
  endpointConfigs: [{host: a, caBundle: {secretRef: {name: a, namespace: a, key: ""}}}]
  resyncOn: []
  paused: false
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}}`,
		"decoratorcontrollers": `
spec:
  resources:
  - apiVersion: v1
    resource: pods
    labelSelector: {matchLabels: {}, matchExpressions: []}
    annotationSelector: {matchAnnotations: {}, matchExpressions: [{key: a, operator: DoesNotExist, values: []}]}
  attachments: [{apiVersion: v1, resource: services, updateStrategy: {method: ""}}]
  namespaces: []
  paused: false
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}}`,
		"controllerrevisions": "{parentPatch: {}, children: []}",
	}
	forEachKind(t, func(t *testing.T, kind kind) {
		sent := func(name string) *unstructured.Unstructured {
			object := kind.named(t, name)
			for field, value := range fromYAML(t, empty[kind.resource]) {
				object.Object[field] = value
			}
			return object
		}
		create(t, kind, sent("created"))
		create(t, kind, kind.named(t, "updated"))
		updated := sent("updated")
		updated.SetResourceVersion(get(t, kind, "updated").GetResourceVersion())
		if _, err := kind.client.Update(t.Context(), updated, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := kind.client.Apply(t.Context(), "applied", sent("applied"),
				metav1.ApplyOptions{FieldManager: "m"}); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"created", "updated", "applied"} {
			if diff := cmp.Diff(content(sent(name)), content(get(t, kind, name))); diff != "" {
				t.Errorf("what was %s reads back otherwise (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestUpdate(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		created := create(t, kind, kind.named(t, "a"))
		stale := created.DeepCopy()

		created.SetLabels(map[string]string{"new": "label"})
		updated, err := kind.client.Update(t.Context(), created, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if updated.GetLabels()["new"] != "label" || updated.GetGeneration() != 1 {
			t.Errorf("labels = %v, generation = %d, want the new label and still 1", updated.GetLabels(), updated.GetGeneration())
		}

		if _, err := kind.client.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("an update of an old version gives %v, want Conflict", err)
		}
		stale.SetResourceVersion("")
		if _, err := kind.client.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("an update without a resourceVersion gives %v, want Invalid", err)
		}
		if _, err := kind.client.Update(t.Context(), kind.named(t, "missing"), metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("an update of an object that is not there gives %v, want NotFound", err)
		}
		if _, err := kind.client.UpdateStatus(t.Context(), kind.named(t, "missing"), metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a status update of an object that is not there gives %v, want NotFound", err)
		}
	})
}

func TestPatch(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		create(t, kind, kind.named(t, "a"))
		tests := []struct {
			name           string
			patchType      types.PatchType
			patch          string
			wantGeneration int64
		}{
			{"a merge patch of metadata", types.MergePatchType, `{"metadata":{"annotations":{"a":"b"}}}`, 1},
			{"a merge patch of the content", types.MergePatchType, kind.otherContent, 2},
			{"the same merge patch again", types.MergePatchType, kind.otherContent, 2},
			{"a JSON patch of metadata", types.JSONPatchType, `[{"op":"replace","path":"/metadata/labels/app","value":"other"}]`, 2},
		}
		for _, test := range tests {
			patched, err := kind.client.Patch(t.Context(), "a", test.patchType, []byte(test.patch), metav1.PatchOptions{})
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if patched.GetGeneration() != test.wantGeneration {
				t.Errorf("%s: generation = %d, want %d", test.name, patched.GetGeneration(), test.wantGeneration)
			}
		}
		final := get(t, kind, "a")
		if final.GetAnnotations()["a"] != "b" || final.GetLabels()["app"] != "other" {
			t.Errorf("annotations = %v, labels = %v, want what was patched", final.GetAnnotations(), final.GetLabels())
		}
	})
}

func TestAPatchThatChangesNothingIsNotStored(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		created := create(t, kind, kind.named(t, "a"))
		patched, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"test"}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if patched.GetResourceVersion() != created.GetResourceVersion() {
			t.Errorf("resourceVersion = %s, want %s as before", patched.GetResourceVersion(), created.GetResourceVersion())
		}
	})
}

func TestStatusAndContentAreWrittenApart(t *testing.T) {
	const status = `{"status":{"observedGeneration":1,"parents":{"total":1,"synced":1,"failing":0}}}`
	forEachKind(t, func(t *testing.T, kind kind) {
		create(t, kind, kind.named(t, "a"))

		byStatus, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, merge(t, status, kind.otherContent, `{"metadata":{"labels":{"app":"other"}}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(content(kind.named(t, "a")), content(byStatus)); diff != "" {
			t.Errorf("the status subresource changed the content (-want +got):\n%s", diff)
		}
		if byStatus.GetGeneration() != 1 || byStatus.GetLabels()["app"] != "test" {
			t.Errorf("generation = %d, labels = %v, want them as before", byStatus.GetGeneration(), byStatus.GetLabels())
		}
		_, found, _ := unstructured.NestedMap(byStatus.Object, "status", "parents")
		if found != kind.hasStatus {
			t.Errorf("status written = %v, want %v", found, kind.hasStatus)
		}

		byMain, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, merge(t, `{"status":{"observedGeneration":99}}`, kind.otherContent), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(byStatus.Object["status"], byMain.Object["status"]); diff != "" {
			t.Errorf("the main resource changed the status (-want +got):\n%s", diff)
		}
		if byMain.GetGeneration() != 2 {
			t.Errorf("generation = %d, want 2", byMain.GetGeneration())
		}
	})
}

func TestDryRunStoresNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		dryRun := []string{metav1.DryRunAll}
		if _, err := kind.client.Create(t.Context(), kind.named(t, "dry"), metav1.CreateOptions{DryRun: dryRun}); err != nil {
			t.Errorf("create: %v", err)
		}
		if _, err := kind.client.Get(t.Context(), "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("reading what was created in a dry run gives %v, want NotFound", err)
		}

		created := create(t, kind, kind.named(t, "a"))
		patched, err := kind.client.Patch(t.Context(), "a", types.MergePatchType, []byte(kind.otherContent), metav1.PatchOptions{DryRun: dryRun})
		if err != nil {
			t.Errorf("patch: %v", err)
		} else if patched.GetGeneration() != 2 {
			t.Errorf("the answer to the patch has generation %d, want 2 as it would become", patched.GetGeneration())
		}
		if err := kind.client.Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: dryRun}); err != nil {
			t.Errorf("delete: %v", err)
		}
		if diff := cmp.Diff(created, get(t, kind, "a")); diff != "" {
			t.Errorf("dry runs changed the stored object (-want +got):\n%s", diff)
		}
	})
}

// Objects from before there was validation come in below it, as by an import.
func TestAnInvalidStoredObjectCanBeListedLabelledMendedAndDeleted(t *testing.T) {
	server := newServer(t)
	client := newTypedClient(t, listen(t, server)).MetacontrollerV1alpha1().CompositeControllers()
	const key = registrytest.Prefix + "/metacontroller.k8s.io/compositecontrollers/old"
	const old = `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController",
		"metadata":{"name":"old","uid":"1","generation":1,"creationTimestamp":"2020-01-01T00:00:00Z","finalizers":["example.com/a"]},
		"spec":{"parentResource":{"apiVersion":"v1","resource":"Foos"},"hooks":{"sync":{"version":"v1","webhook":{"url":"http://a","timeout":"10 seconds"}}}}}`
	if _, err := server.etcd.Put(t.Context(), key, old); err != nil {
		t.Fatal(err)
	}

	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("list = %v, error %v, want the one object", list, err)
	}
	for _, step := range []struct {
		name, patch, subresource string
		wantInvalid              bool
	}{
		{name: "label", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		{name: "write the status", patch: `{"status":{"observedGeneration":1}}`, subresource: "status"},
		{name: "replace one invalid value by another", patch: `{"spec":{"parentResource":{"resource":"Bars"}}}`, wantInvalid: true},
		{name: "mend one of two errors", patch: `{"spec":{"hooks":{"sync":{"webhook":{"timeout":"10s"}}}}}`},
		{name: "remove the finalizer", patch: `{"metadata":{"finalizers":null}}`},
	} {
		var subresources []string
		if step.subresource != "" {
			subresources = append(subresources, step.subresource)
		}
		_, err := client.Patch(t.Context(), "old", types.MergePatchType, []byte(step.patch), metav1.PatchOptions{}, subresources...)
		if step.wantInvalid != apierrors.IsInvalid(err) || !step.wantInvalid && err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if err := client.Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if left, err := server.etcd.Client.Get(t.Context(), registrytest.Prefix+"/", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || left.Count != 0 {
		t.Errorf("%d objects are left in etcd (%v), want none", left.Count, err)
	}
}

func create(t *testing.T, kind kind, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := kind.client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func get(t *testing.T, kind kind, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := kind.client.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// content returns an object without metadata and status.
func content(object *unstructured.Unstructured) map[string]any {
	content := object.DeepCopy().Object
	delete(content, "metadata")
	delete(content, "status")
	return content
}

// merge returns one JSON object with the fields of all.
func merge(t *testing.T, objects ...string) []byte {
	t.Helper()
	merged := map[string]any{}
	for _, object := range objects {
		if err := json.Unmarshal([]byte(object), &merged); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
