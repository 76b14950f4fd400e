// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// relating answers customize requests with the rules in the target's spec.related.
func relating(asked request) object {
	related, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "related")
	return object{"relatedResources": related}
}

// keys returns the sorted keys of attachments or of related objects, by type.
func keys(groups map[string]map[string]object) map[string][]string {
	all := map[string][]string{}
	for group, objects := range groups {
		all[group] = slices.Sorted(maps.Keys(objects))
	}
	return all
}

// The keys in requests depend on the scope of the target and on the protocol version.
func TestKeysOfRequests(t *testing.T) {
	t.Parallel()
	const v1, v2 = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2
	for _, clusterScoped := range []bool{false, true} {
		for _, version := range []v1alpha1.HookVersion{v1, v2} {
			t.Run(fmt.Sprintf("cluster-scoped: %v, version %s", clusterScoped, version), func(t *testing.T) {
				t.Parallel()
				f := prepare(t, harness.CRD{Kind: "Thing", ClusterScoped: clusterScoped}, nil)
				other := env.Namespace(t)
				attached := hook.ConfigMap("attached", object{})
				if clusterScoped {
					attached["metadata"].(object)["namespace"] = f.Namespace
				}
				f.Hook.Handle(byPath(t, map[string]func(request) object{
					harness.SyncPath:      func(request) object { return object{"attachments": []object{attached}} },
					harness.CustomizePath: relating,
				}))
				putSecret(t, f.Namespace, "own")
				putSecret(t, other, "others")
				f.RunDecorator(f.DecoratorSpec(withCustomize, speaking(version), func(spec *v1alpha1.DecoratorControllerSpec) {
					spec.Attachments = append(spec.Attachments, harness.AttachmentRule("apps/v1", "deployments", ""))
				}))
				named := func(name string) object {
					return object{"apiVersion": "v1", "resource": "secrets", "names": []any{name}}
				}
				namespaces := object{"apiVersion": "v1", "resource": "namespaces", "names": []any{other}}
				f.make(clusterScoped, "a", object{"related": []any{named("own-" + f.Namespace), named("others-" + other), namespaces}})

				key, related := "attached", map[string][]string{"Secret.v1": {"own-" + f.Namespace}, "Namespace.v1": nil}
				if clusterScoped || version == v2 {
					key = f.Namespace + "/attached"
					secrets := []string{f.Namespace + "/own-" + f.Namespace, other + "/others-" + other}
					slices.Sort(secrets)
					related = map[string][]string{"Secret.v1": secrets, "Namespace.v1": {other}}
				}
				asked := harness.WaitForRequest(&f.Fixture, harness.SyncPath, "a", func(asked request) bool {
					for group, want := range related { // whose watches others may have, and may be behind
						if len(asked.Related[group]) < len(want) {
							return false
						}
					}
					return len(asked.Attachments["ConfigMap.v1"]) > 0
				})
				if diff := cmp.Diff(map[string][]string{"ConfigMap.v1": {key}, "Deployment.apps/v1": nil}, keys(asked.Attachments)); diff != "" {
					t.Errorf("attachments (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(related, keys(asked.Related)); diff != "" {
					t.Errorf("related objects (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// putSecret creates a Secret with a name that only its namespace has.
func putSecret(t *testing.T, namespace, name string) {
	t.Helper()
	_, err := env.Kube.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// make creates a target, which may be cluster-scoped.
func (f *fixture) make(clusterScoped bool, name string, spec object) {
	f.Helper()
	if !clusterScoped {
		f.CreateParent(name, spec)
		return
	}
	_, err := env.Dynamic.Resource(f.Parents).Create(f.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

// Requests have exactly these fields, also if they are empty.
func TestFieldsOfRequests(t *testing.T) {
	t.Parallel()
	f := start(t, byPath(t, map[string]func(request) object{
		harness.SyncPath: oneConfigMap, harness.CustomizePath: relating, harness.FinalizePath: func(request) object { return object{"finalized": true} },
	}), withCustomize, withFinalize)
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
	want := map[string][]string{
		harness.SyncPath:      {"attachments", "controller", "finalizing", "object", "related"},
		harness.FinalizePath:  {"attachments", "controller", "finalizing", "object", "related"},
		harness.CustomizePath: {"controller", "parent"},
	}
	seen := map[string]bool{}
	for _, call := range f.Hook.Calls() {
		var fields map[string]json.RawMessage
		if err := call.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[call.Path], slices.Sorted(maps.Keys(fields))); diff != "" {
			t.Errorf("fields of a request to %s (-want +got):\n%s", call.Path, diff)
		}
		for field, value := range fields {
			if string(value) == "null" {
				t.Errorf("%s of a request to %s is null", field, call.Path)
			}
		}
		seen[call.Path] = true
	}
	if len(seen) != len(want) {
		t.Errorf("called were %v", seen)
	}
	controller := hook.Requests[request](f, f.Hook, harness.SyncPath, "a")[0].Controller
	if controller["kind"] != "DecoratorController" || controller["apiVersion"] != "metacontroller.k8s.io/v1alpha1" || len(controller["status"].(object)) > 0 {
		t.Errorf("the controller is sent as %v", controller)
	}
}

// A bad answer is the error of one target, whose attachments stay.
func TestQ1BadAnswersHarmOneTarget(t *testing.T) {
	t.Parallel()
	var bodies sync.Map // by the name of the target that they are answered about when its value is 2
	good := answers(t, oneConfigMap)
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
		if body, bad := bodies.Load(asked.Object.GetName()); bad && value == "2" {
			return hook.Text(200, body.(string))
		}
		return good(ctx, call)
	})
	for name, test := range map[string]struct {
		body string
		says string
	}{
		"attachments with a null":            {`{"attachments":[null]}`, `attachments[0] is null`},
		"attachments that are no list":       {`{"attachments":{}}`, `attachments must be a list`},
		"labels that are no object":          {`{"labels":["a"]}`, `labels must be a JSON object`},
		"a label that is a number":           {`{"labels":{"a":1}}`, `labels[a] must be a string`},
		"an annotation that is an object":    {`{"annotations":{"a":{}}}`, `annotations[a] must be a string`},
		"a status that is a string":          {`{"status":"fine"}`, `status must be a JSON object`},
		"a label that the cluster refuses":   {`{"labels":{"a":"not a label"},"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"value":"1"}}]}`, "can't update Thing"},
		"an attachment in another namespace": {`{"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$NAME","namespace":"default"}}]}`, "is not in the namespace"},
		"an attachment with no kind":         {`{"attachments":[{"apiVersion":"v1","metadata":{"name":"bad"}}]}`, "attachments[0] has no kind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := harness.Name("bad")
			bodies.Store(bad, strings.ReplaceAll(test.body, "$NAME", bad))
			f := *f
			f.T = t
			f.CreateParent(bad, object{"value": "1"})
			kept := f.WaitForConfigMap(bad, harness.HasData("value", "1"))
			f.PatchParent(bad, object{"spec": object{"value": "2"}})
			env.WaitForEvent(t, f.Namespace, bad, "SyncError", test.says)
			good := harness.Name("good")
			f.CreateParent(good, object{"value": "2"})
			f.WaitForConfigMap(good, harness.HasData("value", "2"))
			if still := f.WaitForConfigMap(bad, harness.HasData("value", "1")); still.UID != kept.UID {
				t.Error("the attachment was made anew")
			}
		})
	}
}

// An answer without attachments deletes all.
func TestQ32NoAttachmentsMeansNone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"{}", "null", `{"attachments":null}`} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, oneConfigMap))
			f.CreateParent("a", object{"value": "1"})
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
			f.Hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(200, body) })
			f.PatchParent("a", object{"spec": object{"value": "2"}})
			f.WaitUntilConfigMapIsGone("a")
		})
	}
}
