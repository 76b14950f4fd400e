// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// A target has the labels and annotations kept and removed, and the status {phase: old}. Each case
// has an answer, the target after it, and the requests for it.
func TestWhatBecomesOfATarget(t *testing.T) {
	t.Parallel()
	both := object{"kept": "1", "removed": "1"}
	old := object{"phase": "old"}
	const metadata, status = "update", "update status"
	types := map[bool]schema.GroupVersionResource{} // by whether they are without the subresource
	for _, noStatus := range []bool{false, true} {
		types[noStatus] = env.Install(t, harness.CRD{Kind: "Thing", NoStatus: noStatus})
	}
	for name, test := range map[string]struct {
		answer              object
		labels, annotations object
		status              object
		// requests are for types with a status subresource, inOne for types without.
		requests, inOne []string
	}{
		"what it has already": {
			object{"labels": object{"kept": "1", "never": nil}, "annotations": object{"kept": "1", "never": nil}, "status": old}, both, both, old, nil, nil,
		},
		"labels and annotations": {
			object{"labels": object{"added": "2"}, "annotations": object{"removed": nil}},
			object{"added": "2", "kept": "1", "removed": "1"}, object{"kept": "1"}, old, []string{metadata}, []string{metadata},
		},
		"a status and labels": {
			object{"status": object{"phase": "new"}, "labels": object{"removed": nil}},
			object{"kept": "1"}, both, object{"phase": "new"}, []string{status, metadata}, []string{metadata},
		},
	} {
		for _, noStatus := range []bool{false, true} {
			kind, requests, subresources := "with the subresource", test.requests, []string{"status"}
			if noStatus {
				kind, requests, subresources = "without the subresource", test.inOne, nil
			}
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				f := &fixture{harness.Fixture{T: t, Env: env, Parents: types[noStatus], Namespace: env.Namespace(t)}}
				f.Hook = hook.Serve(t, answers(t, func(request) object { return test.answer }))
				with := func(labels object) object {
					labels = maps.Clone(labels)
					labels["test"] = f.Namespace // by which it is selected
					return labels
				}
				f.CreateParentWith("a", object{"labels": with(both), "annotations": both}, object{})
				f.PatchParent("a", object{"status": old}, subresources...)
				from := env.AuditEnd(t)
				f.RunDecorator(f.DecoratorSpec(rules(byLabel("test", f.Namespace))))
				is := func(target *unstructured.Unstructured) error {
					got := object{"labels": target.GetLabels(), "annotations": target.GetAnnotations(), "status": target.Object["status"]}
					want := object{"labels": texts(with(test.labels)), "annotations": texts(test.annotations), "status": test.status}
					if diff := cmp.Diff(want, got); diff != "" {
						return fmt.Errorf("the target (-want +got):\n%s", diff)
					}
					return nil
				}
				f.WaitForParent("a", is)
				harness.WaitForRequest(&f.Fixture, harness.SyncPath, "a", func(request) bool { return true })
				f.Settle("a")
				f.WaitForParent("a", func(target *unstructured.Unstructured) error {
					unstructured.RemoveNestedField(target.Object, "metadata", "annotations", f.TouchAnnotation())
					return is(target)
				})
				if diff := cmp.Diff(append([]string{}, requests...), f.ParentRequests(from, "a")); diff != "" {
					t.Errorf("requests about the target (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func texts(of object) map[string]string {
	all := map[string]string{}
	for name, value := range of {
		all[name] = value.(string)
	}
	return all
}

// A target without a status, whose schema forbids null, can be labelled and gets no status. A null
// that Metacontroller has left is removed by the next write.
func TestQ18NoNullStatusIsWritten(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing", NoStatus: true}, answers(t, func(asked request) object {
		value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
		return object{"labels": object{"value": value}}
	}))
	withNull := &unstructured.Unstructured{Object: object{
		"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": "null"}, "spec": object{"value": "1"}, "status": nil,
	}}
	if _, err := f.ParentClient().Create(t.Context(), withNull, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.CreateParent("none", object{"value": "1"})
	f.RunDecorator(f.DecoratorSpec())
	for _, value := range []string{"1", "2"} {
		for _, name := range []string{"null", "none"} {
			f.PatchParent(name, object{"spec": object{"value": value}})
			f.waitForLabel(name, "value", value)
			found := f.WaitForParent(name, func(*unstructured.Unstructured) error { return nil })
			if status, there := found.Object["status"]; there {
				t.Errorf("%s has the status %v", name, status)
			}
		}
	}
}

// Targets of every type get attachments, labels and annotations, are watched, get the finalizer and
// are finalized. The status of other writers is not touched.
func TestQ18TargetsOfEverySort(t *testing.T) {
	t.Parallel()
	for name, sort := range harness.ParentTypes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startForParentType(t, sort)
			from := env.AuditEnd(t) // from its creation on it may be held
			target := env.Make(t, sort, f.Namespace, map[string]string{"test": f.Namespace}).GetName()
			f.waitForParentType(sort, target, "test", "decorated")
			f.WaitForConfigMap("attached", harness.HasData("of", target))
			changed, err := env.Objects(sort, f.Namespace).Patch(t.Context(), target, types.MergePatchType, []byte(sort.Changes), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			harness.WaitForRequest(&f.Fixture, harness.SyncPath, target, func(asked request) bool { return asked.Object.GetGeneration() >= changed.GetGeneration() })
			f.DeleteConfigMap("attached")
			f.WaitForConfigMap("attached", harness.HasData("of", target))

			// When the target is no longer selected, one write undoes all and removes the
			// finalizer.
			if _, err := env.Objects(sort, f.Namespace).Patch(t.Context(), target, types.MergePatchType, []byte(`{"metadata":{"labels":{"test":null}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			f.waitForParentType(sort, target)
			f.WaitUntilConfigMapIsGone("attached")
			about := hostcluster.Request{Group: f.Parents.Group, Resource: f.Parents.Resource, Name: target}
			made := env.Requests(t, from, about)
			if sort.Kind == "DecoratorController" { // whose status the server writes, perhaps at that very moment
				made = slices.DeleteFunc(made, func(request string) bool { return request == "update 409" || request == "get" })
			}
			if diff := cmp.Diff([]string{"update", "update", "update"}, made); diff != "" {
				t.Errorf("requests to hold it, to decorate it and to let it go (-want +got):\n%s", diff)
			}
			if err := env.Objects(sort, f.Namespace).Delete(t.Context(), target, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// startForParentType runs a controller for objects of a type that have a label of the test's own.
// Until it is finalized, each gets a label, an annotation and the ConfigMap attached in the test's
// namespace.
func startForParentType(t *testing.T, of harness.ParentType) *fixture {
	t.Helper()
	namespace := env.Namespace(t)
	handler := byPath(t, map[string]func(request) object{
		harness.SyncPath: func(asked request) object {
			attached := hook.ConfigMap("attached", object{"of": asked.Object.GetName()})
			attached["metadata"].(object)["namespace"] = namespace
			return object{
				"labels": object{"decorated": "yes"}, "annotations": object{"decorated": "yes"}, "attachments": []object{attached},
			}
		},
		harness.FinalizePath: func(asked request) object {
			if len(asked.Attachments["ConfigMap.v1"]) > 0 {
				return object{}
			}
			return object{"labels": object{"decorated": nil}, "annotations": object{"decorated": nil}, "finalized": true}
		},
	})
	f := &fixture{harness.Fixture{T: t, Env: env, Parents: of.Resource, Namespace: namespace, Hook: hook.Serve(t, handler)}}
	f.RunDecorator(f.DecoratorSpec(withFinalize, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources[0].LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"test": namespace}}
	}))
	return f
}

// waitForParentType waits until an object of a type has exactly these labels. If decorated is among
// them, it must have the annotation and the finalizer too, and otherwise neither.
func (f *fixture) waitForParentType(of harness.ParentType, name string, labels ...string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		found, err := env.Objects(of, f.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		decorated := slices.Contains(labels, "decorated")
		var have []string
		for name := range found.GetLabels() {
			if !strings.HasPrefix(name, "kubernetes.io/") {
				have = append(have, name)
			}
		}
		slices.Sort(have)
		slices.Sort(labels)
		held := slices.Contains(found.GetFinalizers(), f.Finalizer())
		if !slices.Equal(have, labels) || held != decorated || (found.GetAnnotations()["decorated"] != "") != decorated {
			return fmt.Errorf("it should have the labels %v, but is %v", labels, found.Object["metadata"])
		}
		return nil
	})
}
