// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"slices"
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
)

// oneDeployment answers one Deployment named like the parent, whose spec has the fields of the parent's
// spec.deployment beside those that it needs.
func oneDeployment(asked request) object {
	labels := object{"app": asked.Parent.GetName()}
	spec := object{"selector": object{"matchLabels": labels}, "template": object{
		"metadata": object{"labels": labels}, "spec": object{"containers": []object{{"name": "a", "image": "registry.example/a"}}}}}
	fields, _, _ := unstructured.NestedMap(asked.Parent.Object, "spec", "deployment")
	for name, value := range fields {
		spec[name] = value
	}
	if selector, found, _ := unstructured.NestedMap(asked.Parent.Object, "spec", "nodeSelector"); found {
		spec["template"].(object)["spec"].(object)["nodeSelector"] = selector
	}
	return object{"children": []object{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": asked.Parent.GetName()}, "spec": spec}}}
}

func ofDeployments(method v1alpha1.ChildUpdateMethod) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule("apps/v1", "deployments", method)}
	}
}

// expectWarnings checks that the events of a reason about a parent are these, once each.
func (f *fixture) expectWarnings(parent, reason string, want ...string) {
	f.Helper()
	events, err := env.Kube.CoreV1().Events(f.Namespace).List(f.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + parent + ",reason=" + reason})
	if err != nil {
		f.Fatal(err)
	}
	var got []string
	for _, event := range events.Items {
		got = append(got, event.Message)
		if event.Count != 1 {
			f.Errorf("%d times: %s", event.Count, event.Message)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.Errorf("the events %s about %s are %q, want %q", reason, parent, got, want)
	}
}

// fieldsKnown returns the message of the condition Warnings.
func (f *fixture) fieldsKnown() string {
	f.Helper()
	controller, err := f.getController(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return messageOf(controller.Status, v1alpha1.ConditionWarnings)
}

func TestAMisspeltFieldOfAChildIsTold(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		t.Parallel()
		f := start(t, answers(t, oneDeployment), ofDeployments(v1alpha1.ChildUpdateInPlace), engine)
		f.CreateParent("a", object{"deployment": object{"replicas": 2}})
		f.waitForCells(map[string]string{"SYNCED": "True", "PARENTS": "1", "WARNED": "0"})
		f.PatchParent("a", object{"spec": object{"deployment": object{"replicas": nil, "replica": 5}}})
		consequence := "drops it"
		if strings.Contains(t.Name(), string(v1alpha1.ChildApplyServerSide)) {
			consequence = "rejects a change with it, so the child stays as it is"
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", ".spec.replica: field not declared in schema")
		}
		told := "Deployment " + f.Namespace + "/a: the cluster does not know the field spec.replica and " + consequence + "; did you mean spec.replicas?"
		env.WaitForEvent(t, f.Namespace, "a", "UnknownField", told)
		f.WaitForCondition("Warnings", metav1.ConditionTrue)
		f.waitForCells(map[string]string{"WARNED": "1"})
		if got, want := f.fieldsKnown(), "Thing "+f.Namespace+"/a: "+told; got != want {
			t.Errorf("Warnings says %q, want %q", got, want)
		}
		f.PatchParent("a", object{"spec": object{"more": "1"}})
		f.PatchParent("a", object{"metadata": object{"annotations": object{"more": "1"}}})
		f.expectWarnings("a", "UnknownField", told)

		f.PatchParent("a", object{"spec": object{"deployment": object{"replicas": 3, "replica": nil}}})
		f.waitForCells(map[string]string{"SYNCED": "True", "WARNED": "0"})
		f.WaitForCondition("Warnings", metav1.ConditionFalse)
		f.expectWarnings("a", "UnknownField", told)
		f.expectWarnings("a", "ClusterWarning")
	})
}

func TestAFieldOfTheStatusThatTheSchemaLacksIsTold(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, func(request) object { return object{"status": object{"foo": 1, "ready": 2}} })))
	status := object{"type": "object", "properties": object{"ready": object{"type": "integer"}}}
	f.Parents = env.Install(t, harness.CRD{Kind: "Thing", Schema: object{"status": status}})
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", nil)
	const told = "the cluster does not know the field status.foo and drops it;"
	env.WaitForEvent(t, f.Namespace, "a", "UnknownField", told)
	f.WaitForCondition("Warnings", metav1.ConditionTrue)
	if got := f.fieldsKnown(); !strings.Contains(got, told) {
		t.Errorf("Warnings says %q, want %q in it", got, told)
	}

	status["properties"].(object)["foo"] = object{"type": "integer"}
	patch := harness.JSON(t, []object{{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status", "value": status}})
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := env.Dynamic.Resource(definitions).Patch(t.Context(), f.Parents.GroupResource().String(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.WaitForParent("a", func(parent *unstructured.Unstructured) error {
		if foo, found, _ := unstructured.NestedInt64(parent.Object, "status", "foo"); !found || foo != 1 {
			return fmt.Errorf("the status is %v", parent.Object["status"])
		}
		return nil
	})
	f.WaitForCondition("Warnings", metav1.ConditionFalse)
	events, err := env.Kube.CoreV1().Events(f.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=UnknownField"})
	if err != nil || len(events.Items) != 1 {
		t.Errorf("the events are %v, error %v, want one", events.Items, err)
	}
}

func TestWhatTheClusterWarnsOfIsTold(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneDeployment), ofDeployments(v1alpha1.ChildUpdateInPlace))
	f.CreateParent("a", object{"nodeSelector": object{"beta.kubernetes.io/os": "linux"}})
	event := env.WaitForEvent(t, f.Namespace, "a", "ClusterWarning", "Deployment "+f.Namespace+"/a: the cluster warns: ")
	f.waitForCells(map[string]string{"SYNCED": "True", "WARNED": "1", "REASON": "ClusterWarning"})
	f.PatchParent("a", object{"spec": object{"deployment": object{"replicas": 2}}})
	env.Eventually(t, func(ctx context.Context) error {
		child, err := env.Kube.AppsV1().Deployments(f.Namespace).Get(ctx, "a", metav1.GetOptions{})
		if err == nil && *child.Spec.Replicas != 2 {
			err = fmt.Errorf("it has %d replicas", *child.Spec.Replicas)
		}
		return err
	})
	f.waitForCells(map[string]string{"SYNCED": "True"})
	f.expectWarnings("a", "ClusterWarning", event.Message)
}

func TestAChildThatOnDeleteLeavesAloneIsCounted(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneDeployment), ofDeployments(v1alpha1.ChildUpdateOnDelete))
	f.CreateParent("a", object{"deployment": object{"replicas": 2}})
	f.waitForCells(map[string]string{"SYNCED": "True", "PARENTS": "1", "OUTDATED": "0"})
	f.PatchParent("a", object{"spec": object{"deployment": object{"replicas": 3}}})
	f.waitForCells(map[string]string{"SYNCED": "True", "OUTDATED": "1", "WARNED": "0", "REASON": "Running"})
	event := env.WaitForEvent(t, f.Namespace, "a", "ChildOutdated", "Deployment "+f.Namespace+"/a: it differs from "+
		"the desired state, first at spec.replicas")
	if event.Type != corev1.EventTypeNormal || !strings.Contains(event.Message, "spec.childResources[0].updateStrategy.method is OnDelete") {
		t.Errorf("the event is %s: %s", event.Type, event.Message)
	}
	if err := env.Kube.AppsV1().Deployments(f.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.waitForCells(map[string]string{"SYNCED": "True", "OUTDATED": "0", "WARNED": "0"})
}
