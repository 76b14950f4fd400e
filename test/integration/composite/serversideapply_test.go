// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var byServerSideApply = applied(v1alpha1.ChildApplyServerSide)

// One request creates a child so that all its fields belong to server-side apply.
func TestServerSideApplyCreatesByOneWrite(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateInPlace), byServerSideApply)
	from := env.AuditEnd(f)
	parent := f.CreateParent("a", specimensOf(t, first))
	for of := range specimens {
		child := f.waitForChild(of, exists)
		if entries := child.GetManagedFields(); len(entries) != 1 || entries[0].Manager != "metacontroller" || entries[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("the fields of %s should belong to what was applied, but are %v", of.Resource, entries)
		}
		if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != parent.GetUID() || child.GetLabels()["controller-uid"] != string(parent.GetUID()) {
			t.Errorf("the parent should control %s, but its owners are %v, its labels %v", of.Resource, child.GetOwnerReferences(), child.GetLabels())
		}
		if len(child.GetAnnotations()) > 0 {
			t.Errorf("%s should not have annotations, but has %v", of.Resource, child.GetAnnotations())
		}
	}
	f.Settle("a")
	for of := range specimens {
		if writes := f.RequestLines(from, writesOf(of)); len(writes) != 1 || !strings.HasPrefix(writes[0], "patch ") || !strings.HasSuffix(writes[0], ": 201") {
			t.Errorf("%s should be created by one patch, but there were %v", of.Resource, writes)
		}
	}
}

// An object of another client is neither changed nor adopted, also if the cache does not have it yet.
func TestQ6ServerSideApplySeizesNothing(t *testing.T) {
	t.Parallel()
	theirs := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": "theirs"}}
	}
	var f *fixture
	f = start(t, answers(t, func(asked request) object {
		// The second object is created after the caches were read.
		_, err := env.Kube.CoreV1().ConfigMaps(asked.Parent.GetNamespace()).Create(context.WithoutCancel(f.Context()), theirs("late"), metav1.CreateOptions{})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Error(err)
		}
		return object{"children": []object{hook.ConfigMap("early", object{"value": "ours"}), hook.ConfigMap("late", object{"value": "ours"})}}
	}), byServerSideApply)
	early, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), theirs("early"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.CreateParent("a", object{})
	env.WaitForEvent(t, f.Namespace, "a", "ChildNameTaken", "ConfigMap "+f.Namespace+"/early")
	f.waitUntilObserved("a", 1)
	f.Settle("a")
	for _, name := range []string{"early", "late"} {
		after, err := f.GetConfigMap(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if after.Data["value"] != "theirs" || len(after.OwnerReferences)+len(after.Labels) > 0 || len(after.ManagedFields) != 1 {
			t.Errorf("%s was changed to %v", name, after)
		}
		if name == "early" && after.ResourceVersion != early.ResourceVersion {
			t.Errorf("%s was written", name)
		}
	}
}

// Changes of the hook's fields are repaired, also in metadata, which has no generation.
func TestServerSideApplyRepairsDrift(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateInPlace), byServerSideApply)
	f.CreateParent("a", specimensOf(t, first))
	drifts := map[schema.GroupVersionResource]string{
		configMaps:  `{"metadata":{"labels":{"kept":"changed","dropped":null}},"data":{"kept":null}}`,
		services:    `{"metadata":{"ownerReferences":null},"spec":{"selector":{"app":"changed"}}}`,
		deployments: `{"spec":{"replicas":1,"template":{"spec":{"volumes":null}}}}`,
	}
	for of, drift := range drifts {
		f.waitForChild(of, exists)
		_, err := env.Dynamic.Resource(of).Namespace(f.Namespace).Patch(t.Context(), "it", types.MergePatchType, []byte(drift), metav1.PatchOptions{FieldManager: "somebody"})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.waitForChild(configMaps, contains(harness.FromYAML(t, specimens[configMaps].first)))
	f.waitForChild(services, func(child *unstructured.Unstructured) error {
		if len(child.GetOwnerReferences()) == 0 {
			return errors.New("the Service should be its parent's child again")
		}
		return contains(object{"spec": object{"selector": object{"app": "it"}}})(child)
	})
	f.waitForChild(deployments, contains(harness.FromYAML(t, `{spec: {replicas: 0, template: {spec: {volumes: [{name: scratch, emptyDir: {}}]}}}}`)))
}

// A child is replaced although its generation rises with a change, and although a field is
// immutable.
func TestQ10RecreateUnderServerSideApply(t *testing.T) {
	t.Parallel()
	recreating := func(apiVersion, resource string) change {
		return func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ChildResources[0] = harness.ChildRule(apiVersion, resource, v1alpha1.ChildUpdateRecreate)
		}
	}
	children := func(texts ...string) object {
		list := []any{}
		for _, text := range texts {
			list = append(list, harness.FromYAML(t, text))
		}
		return object{"children": list}
	}
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: it}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: app:v1}]}}}}`
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

	replaced := func(before types.UID, image string) func(*unstructured.Unstructured) error {
		return func(child *unstructured.Unstructured) error {
			containers, _, _ := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "containers")
			if child.GetUID() == before || fmt.Sprint(containers[0].(object)["image"]) != image {
				return fmt.Errorf("the %s should be another one with %v, but is %s with %v", child.GetKind(), image, child.GetUID(), containers)
			}
			return nil
		}
	}
	t.Run("a generation that rises", func(t *testing.T) {
		t.Parallel()
		f := start(t, answers(t, wantedChildren), recreating("apps/v1", "deployments"), byServerSideApply)
		deployment := specimens[deployments].first
		f.CreateParent("a", children(deployment))
		before := f.waitForChild(deployments, exists).GetUID()
		f.addTheirs(deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it, labels: {theirs: "1"}}, spec: {minReadySeconds: 5}}`)
		f.Settle("a")
		if after := f.waitForChild(deployments, exists).GetUID(); after != before {
			t.Error("what others add is no reason to make it anew")
		}
		f.PatchParent("a", object{"spec": children(strings.Replace(deployment, "app:v1", "app:v2", 1))})
		f.waitForChild(deployments, replaced(before, "app:v2"))
	})
	t.Run("a field that must not change", func(t *testing.T) {
		t.Parallel()
		f := start(t, answers(t, wantedChildren), recreating("batch/v1", "jobs"), byServerSideApply)
		f.CreateParent("a", children(job))
		before := f.waitForChild(jobs, exists).GetUID()
		f.PatchParent("a", object{"spec": children(strings.Replace(job, "app:v1", "app:v2", 1))})
		f.waitForChild(jobs, replaced(before, "app:v2"))
	})
	byDynamicApply := applied(v1alpha1.ChildApplyDynamic)
	for engine, apply := range map[string]change{"dynamic": byDynamicApply, "server-side": byServerSideApply} {
		t.Run("a child that could not be created again stays, by "+engine+" apply", func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, wantedChildren), recreating("batch/v1", "jobs"), apply)
			f.CreateParent("a", children(job))
			before := f.waitForChild(jobs, exists).GetUID()
			invalid := strings.Replace(job, "restartPolicy: Never", "restartPolicy: Sometimes", 1)
			f.PatchParent("a", object{"spec": children(invalid)})
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", "the server did not delete it, because a dry run of its creation failed")
			if after := f.waitForChild(jobs, exists).GetUID(); after != before {
				t.Error("it was deleted")
			}
			f.PatchParent("a", object{"spec": children(strings.Replace(job, "app:v1", "app:v2", 1))})
			f.waitForChild(jobs, replaced(before, "app:v2"))
		})
	}
}

// A process that has just started sees in its caches that nothing has changed, and sends no request
// to the host.
func TestServerSideApplyIsQuietAfterARestart(t *testing.T) {
	fixtures, calls := map[v1alpha1.ChildUpdateMethod]*fixture{}, map[v1alpha1.ChildUpdateMethod]int{}
	for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateInPlace, v1alpha1.ChildUpdateRecreate} {
		f := start(t, answers(t, wantedChildren), withSpecimens(method), byServerSideApply)
		f.CreateParent("a", specimensOf(t, first))
		for of, specimen := range specimens {
			f.waitForChild(of, isManaged(v1alpha1.ChildApplyServerSide))
			f.addTheirs(of, specimen.others)
		}
		f.Settle("a")
		fixtures[method] = f
	}
	env.StopServer(t)
	for method, f := range fixtures {
		calls[method] = len(f.Hook.Calls())
	}
	from := env.AuditEnd(t)
	env.StartServer(t)
	for method, f := range fixtures {
		env.Eventually(t, func(context.Context) error {
			if len(f.Hook.Calls()) == calls[method] {
				return errors.New("the hook should be called after the restart")
			}
			return nil
		})
		f.Settle("a")
		env.ExpectNoRequests(f, from, hostcluster.Request{Verbs: append(hostcluster.Writes(), "get"), Namespace: f.Namespace})
	}
	f := fixtures[v1alpha1.ChildUpdateInPlace]
	f.PatchParent("a", object{"spec": specimensOf(t, later)})
	for of, specimen := range specimens {
		f.waitForChild(of, contains(harness.FromYAML(t, specimen.left)))
	}
}
