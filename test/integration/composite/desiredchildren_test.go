// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// A child that cannot belong to its parent is refused, and a good one beside it is created. The garbage collector would
// delete a child that is elsewhere (Q15), the server does not observe children of undeclared types (Q17), and a child
// with a generated name would be another one in each sync (Q39).
func TestQ15Q17Q39ChildrenThatCannotBeHadAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere, stray := env.Namespace(t), harness.Name("stray")
	tests := map[string]struct {
		child object
		says  string
	}{
		"in-another-namespace": {
			object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": stray, "namespace": elsewhere}},
			"child ConfigMap " + elsewhere + "/" + stray + " is not in the namespace of its parent",
		},
		"in-no-namespace": {
			object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": stray}},
			"is cluster-scoped and cannot belong to the namespaced parent",
		},
		"of-an-undeclared-type": {
			object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": stray}},
			"child Secret " + stray + `: spec.childResources declares no kind "Secret" in apiVersion "v1"`,
		},
		"with-a-generated-name": {
			object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"generateName": stray}},
			"has no metadata.name",
		},
	}
	f := start(t, answers(t, func(asked request) object {
		name := asked.Parent.GetName()
		return object{"children": []object{hook.ConfigMap(name, object{"value": "1"}), tests[name].child}}
	}), func(spec *v1alpha1.CompositeControllerSpec) {
		namespaces := harness.ChildRule("v1", "namespaces", v1alpha1.ChildUpdateInPlace)
		spec.ChildResources = append(spec.ChildResources, namespaces)
	})
	for name := range tests {
		f.CreateParent(name, object{})
	}
	for name, test := range tests {
		env.WaitForEvent(t, f.Namespace, name, "SyncError", test.says)
		f.WaitForConfigMap(name, harness.HasData("value", "1"))
	}
	all, err := env.Kube.CoreV1().ConfigMaps(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, configMap := range all.Items {
		if strings.HasPrefix(configMap.Name, stray) {
			t.Errorf("there should be no ConfigMap %s/%s", configMap.Namespace, configMap.Name)
		}
	}
	_, err = env.Kube.CoreV1().Namespaces().Get(t.Context(), stray, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("there should be no namespace, but the answer is %v", err)
	}
	_, err = env.Kube.CoreV1().Secrets(f.Namespace).Get(t.Context(), stray, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("there should be no Secret, but the answer is %v", err)
	}
}

// A value of the wrong JSON type is sent, and an event says which one it is.
func TestQ21AnotherTypeIsTheHostsToRefuse(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		child := hook.ConfigMap("a", object{"value": "1"})
		if data, changed, _ := unstructured.NestedFieldCopy(asked.Parent.Object, "spec", "data"); changed {
			child["data"] = data
		}
		return object{"children": []object{child}}
	}))
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"data": []any{"a", "list"}}})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "cannot unmarshal array into Go struct field ConfigMap.data")
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"data": object{"value": "2"}}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
}

// A conflict of the status leads to another sync. Errors of children are reported all the same.
func TestQ36AConflictOfTheStatusHidesNoError(t *testing.T) {
	t.Parallel()
	var f *fixture
	var stopped atomic.Bool
	var calls atomic.Int64
	handler := answers(t, func(asked request) object {
		call := calls.Add(1)
		if !stopped.Load() {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"call":"%d"}}}`, call)
			_, err := f.ParentClient().
				Patch(context.Background(), asked.Parent.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil {
				t.Errorf("patch the parent: %v", err)
			}
		}
		return object{"status": object{"call": call}, "children": []object{hook.ConfigMap("Not-A-Name", object{})}}
	})
	f = prepare(t, hook.Serve(t, handler))
	from := env.AuditEnd(f)
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "can't create ConfigMap "+f.Namespace+"/Not-A-Name")
	statuses := f.RequestLines(from, hostcluster.Request{Verbs: []string{"update"}, Group: f.Parents.Group, Resource: f.Parents.Resource})
	if len(statuses) == 0 || strings.HasSuffix(statuses[0], ": 200") {
		t.Errorf("the status should have been in conflict, but there were %v", statuses)
	}
	stopped.Store(true)
	f.waitUntilObserved("a", 1)
}

// The status is compared with the cache, whether or not it is written.
func TestQ30ParentIsNotReadToCompareItsStatus(t *testing.T) {
	t.Parallel()
	// One status a generation. Another one could be in conflict with a patch below, and would be made anew for the
	// parent that is there then, which is read for that.
	f := start(t, answers(t, func(asked request) object {
		answer := oneConfigMap(asked)
		answer["status"] = object{"ready": true}
		return answer
	}))
	from := env.AuditEnd(f)
	f.CreateParent("a", object{"value": "1"})
	f.waitUntilObserved("a", 1)
	f.Settle("a")
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.waitUntilObserved("a", 2)
	f.Settle("a")
	env.ExpectNoRequests(f, from, hostcluster.Request{Verbs: []string{"get"}, Group: f.Parents.Group, Resource: f.Parents.Resource})
}

// A schema without status.observedGeneration drops it from each status that is written. It may also
// add a default and store a number in another form.
func TestAStatusThatTheSchemaCutsShortIsWrittenOnce(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, func(request) object {
		return object{"status": object{"ready": true, "share": 10.0, "unknown": "x"}, "children": []object{}}
	})))
	f.Parents = env.Install(t, harness.CRD{Kind: "Thing", Schema: object{
		"spec": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"status": object{"type": "object", "properties": object{
			"ready": object{"type": "boolean"}, "share": object{"type": "number"}, "size": object{"type": "string", "default": "small"},
		}},
	}})
	f.RunComposite(f.CompositeSpec())
	from := env.AuditEnd(f)
	f.CreateParent("a", object{})
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "a", object{"ready": true, "share": int64(10), "size": "small"})
	})
	f.Settle("a")
	f.Settle("a")
	if writes := f.RequestLines(from, writesOf(f.Parents)); len(writes) != 1 {
		t.Errorf("the status should be written once, but there were %v", writes)
	}
}

// A list is merged as the present definition of its type says.
func TestAChangedDefinitionChangesHowAListIsMerged(t *testing.T) {
	t.Parallel()
	list := object{"type": "array", "items": object{"type": "object", "required": []any{"id"}, "properties": object{"id": object{"type": "string"}, "value": object{"type": "string"}}}}
	gadgets := env.Install(t, harness.CRD{Kind: "Gadget", Schema: object{"spec": object{"type": "object", "properties": object{"list": list}}}})
	f := start(t, answers(t, func(asked request) object {
		value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		return object{"children": []object{{
			"apiVersion": gadgets.GroupVersion().String(), "kind": "Gadget", "metadata": object{"name": "a"},
			"spec": object{"list": []object{{"id": "ours", "value": value}}},
		}}}
	}), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule(gadgets.GroupVersion().String(), gadgets.Resource, v1alpha1.ChildUpdateInPlace)}
	})
	children := env.Dynamic.Resource(gadgets).Namespace(f.Namespace)
	listIs := func(want ...object) {
		t.Helper()
		env.Eventually(t, func(ctx context.Context) error {
			child, err := children.Get(ctx, "a", metav1.GetOptions{})
			if err != nil {
				return err
			}
			got, _, _ := unstructured.NestedSlice(child.Object, "spec", "list")
			if harness.JSON(t, got) != harness.JSON(t, want) {
				return fmt.Errorf("the list should be %v, but is %v", want, got)
			}
			return nil
		})
	}
	add := func() {
		t.Helper()
		_, err := children.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/list/-","value":{"id":"theirs"}}]`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.CreateParent("a", object{"value": "1"})
	listIs(object{"id": "ours", "value": "1"})
	add()
	listIs(object{"id": "ours", "value": "1"}) // a list whose items have no key is replaced as a whole

	from := env.AuditEnd(f)
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err := env.Dynamic.Resource(definitions).Patch(t.Context(), gadgets.GroupResource().String(), types.JSONPatchType, []byte(`[
		{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/x-kubernetes-list-type","value":"map"},
		{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/x-kubernetes-list-map-keys","value":["id"]}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, func(context.Context) error {
		reads, err := env.Host.Audit().Find(from, hostcluster.Request{User: harness.ServerUser, Verbs: []string{"get"}})
		for _, read := range reads {
			if strings.HasPrefix(read.RequestURI, "/openapi/v3/apis/"+gadgets.Group+"/") {
				return nil
			}
		}
		return errors.Join(err, errors.New("the server should read how the type is described by now"))
	})
	round := 1
	env.Eventually(t, func(ctx context.Context) error { // what is read first may still be the old one, and what is read may not be in use yet
		round++
		add()
		f.PatchParent("a", object{"spec": object{"value": fmt.Sprint(round)}})
		f.Settle("a")
		child, err := children.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedSlice(child.Object, "spec", "list"); len(got) != 2 {
			return fmt.Errorf("what others put into the list should stay once its definition says so, but there is %v", got)
		}
		return nil
	})
}

// The host drops the namespace of a cluster-scoped object. That is no difference.
func TestAClusterScopedChildWithANamespaceIsWrittenOnce(t *testing.T) {
	t.Parallel()
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	name := harness.Name("child")
	f := prepare(t, hook.Serve(t, answers(t, func(request) object {
		return object{"children": []object{{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": object{"name": name, "namespace": "default"}}}}
	})))
	f.Parents, f.Namespace = env.Install(t, harness.CRD{Kind: "Fleet", ClusterScoped: true}), ""
	from := env.AuditEnd(f)
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule(roles.GroupVersion().String(), roles.Resource, v1alpha1.ChildUpdateInPlace)}
	}))
	parent := &unstructured.Unstructured{Object: object{"apiVersion": f.Parents.GroupVersion().String(), "kind": "Fleet", "metadata": object{"name": "a"}}}
	if _, err := env.Dynamic.Resource(f.Parents).Create(t.Context(), parent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(roles).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	f.Settle("a")
	events, err := env.Host.Audit().Find(from, hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes(), Group: roles.Group, Resource: roles.Resource, Name: name})
	if err != nil || len(events) != 1 {
		t.Errorf("there should be one write, but there were %d, %v", len(events), err)
	}
	if err := env.Dynamic.Resource(f.Parents).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
