// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var allV2 = customizing(v1alpha1.HookVersionV2, v1alpha1.HookVersionV2)

// childOfEach answers one child for each related ConfigMap, with its data.
func childOfEach(asked request) object {
	var children []object
	for _, related := range asked.Related["ConfigMap.v1"] {
		data, _, _ := unstructured.NestedMap(related, "data")
		name, _, _ := unstructured.NestedString(related, "metadata", "name")
		children = append(children, hook.ConfigMap(asked.Parent.GetName()+"-"+name, data))
	}
	return object{"children": children}
}

// configMapsNamed is a rule for ConfigMaps in all namespaces, also in those of other tests.
func configMapsNamed(names ...any) object {
	return object{"apiVersion": "v1", "resource": "configmaps", "names": names}
}

func TestQ28LabelsOfNamespacesTriggerASync(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, childOfEach), allV2)
	namespace, label := env.Namespace(t), harness.Name("label")
	putConfigMap(t, namespace, "settings", nil, map[string]string{"value": "1"})
	f.CreateParent("a", rules(object{
		"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": matchLabels(label, "yes"),
		"labelSelector": object{"matchExpressions": []any{object{"key": "x", "operator": "DoesNotExist"}}},
	}))
	f.waitForRelated("a", "ConfigMap.v1", "")
	labelNamespace(t, namespace, `{"`+label+`":"yes"}`)
	f.WaitForConfigMap("a-settings", harness.HasData("value", "1"))
	labelNamespace(t, namespace, `{"`+label+`":null}`)
	f.WaitUntilConfigMapIsGone("a-settings")
}

// A related object that comes, changes or goes leads to a sync. It calls no customize hook, and no hook about parents
// that are not selected.
func TestQ29RelatedChangesCallNoCustomizeHook(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, childOfEach), allV2, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"handled": "yes"}}
	})
	name := harness.Name("cm")
	f.CreateParent("unselected", rules(configMapsNamed(name)))
	f.CreateParent("a", rules(configMapsNamed(name)))
	f.PatchParent("a", object{"metadata": object{"labels": object{"handled": "yes"}}})
	f.waitForRelated("a", "ConfigMap.v1", "")
	for _, value := range []string{"1", "2", "3"} {
		putConfigMap(t, f.Namespace, name, nil, map[string]string{"value": value})
		f.WaitForConfigMap("a-"+name, harness.HasData("value", value))
	}
	f.DeleteConfigMap(name)
	f.WaitUntilConfigMapIsGone("a-" + name)
	if calls := hook.Requests[request](f, f.Hook, harness.CustomizePath, "a"); len(calls) != 1 {
		t.Errorf("the customize hook was called %d times about the parent, want once", len(calls))
	}
	if calls := len(hook.Requests[request](f, f.Hook, harness.CustomizePath, "unselected")) + len(hook.Requests[request](f, f.Hook, harness.SyncPath, "unselected")); calls > 0 {
		t.Errorf("hooks were called %d times about a parent the controller is not for", calls)
	}
}

func TestQ26CustomizeAnswerLastsUntilSpecLabelsOrAnnotationsChange(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, childOfEach), allV2)
	f.CreateParent("a", rules(configMapsNamed(harness.Name("cm"))))
	f.waitForRelated("a", "ConfigMap.v1", "")
	for _, test := range []struct {
		what        string
		patch       object
		subresource []string
		calls       int
	}{
		{"the status", object{"status": object{"other": "program"}}, []string{"status"}, 1},
		{"an annotation", object{"metadata": object{"annotations": object{"x": "1"}}}, nil, 2},
		{"a label", object{"metadata": object{"labels": object{"x": "1"}}}, nil, 3},
		{"a finalizer", object{"metadata": object{"finalizers": []any{"example.com/x"}}}, nil, 3},
		{"the spec", object{"spec": object{"x": 1}}, nil, 4},
		{"the finalizer", object{"metadata": object{"finalizers": nil}}, nil, 4},
	} {
		changed := f.PatchParent("a", test.patch, test.subresource...)
		f.waitUntilSynced("a", changed.GetResourceVersion())
		if calls := len(hook.Requests[request](f, f.Hook, harness.CustomizePath, "a")); calls != test.calls {
			t.Errorf("after a change of %s the customize hook was called %d times, want %d", test.what, calls, test.calls)
		}
	}
}

// waitUntilSynced waits until the sync hook was sent the parent in this version or a later one.
func (f *fixture) waitUntilSynced(parent, version string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		calls := hook.Requests[request](f, f.Hook, harness.SyncPath, parent)
		last := calls[len(calls)-1].Parent.GetResourceVersion()
		if order, err := resourceversion.CompareResourceVersion(last, version); err != nil || order < 0 {
			return fmt.Errorf("the sync hook was last shown version %s, want %s: %v", last, version, err)
		}
		return nil
	})
}

// A type is watched as long as a rule names it.
func TestRelatedWatchIsDroppedWhenNoRuleNeedsIt(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, nothing), allV2)
	shops := env.Install(t, harness.CRD{Kind: "Shop"})
	watched := func(want int) {
		t.Helper()
		env.WaitForWatches(t, shops, want)
	}
	allShops := object{"apiVersion": shops.GroupVersion().String(), "resource": shops.Resource}
	watched(0)
	f.CreateParent("a", rules(allShops))
	f.CreateParent("b", rules(allShops))
	f.waitForRelated("a", "Shop."+shops.GroupVersion().String(), "")
	watched(1)

	f.PatchParent("a", object{"spec": object{"rules": []any{}}})
	f.waitUntilObserved("a", 2)
	watched(1)
	f.PatchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "Stopped", f.Controller.Name)
	watched(1)
	f.DeleteParent("b")
	watched(0)
	if started := watchesStarted(t, shops); started != 1 {
		t.Errorf("%d watches were started, want one that survives the change of the controller", started)
	}

	f.CreateParent("c", rules(allShops))
	f.waitForRelated("c", "Shop."+shops.GroupVersion().String(), "")
	watched(1)
	f.DeleteController()
	watched(0)
}

func ofServer(of schema.GroupVersionResource, verbs ...string) hostcluster.Request {
	return hostcluster.Request{User: harness.ServerUser, Group: of.Group, Resource: of.Resource, Verbs: verbs}
}

func watchesStarted(t *testing.T, of schema.GroupVersionResource) int {
	t.Helper()
	asked, err := env.Host.Audit().Find(0, ofServer(of, "watch"))
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(asked, hostcluster.Refused))
}

func TestRelatedTypeThatAppearsLateIsPickedUp(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, nothing), allV2)
	group := harness.Name("late") + ".example.com"
	f.CreateParent("a", rules(object{"apiVersion": group + "/v1", "resource": "shops"}))
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", `can't find resource "shops"`)
	env.Install(t, harness.CRD{Kind: "Shop", Group: group})
	f.waitForRelated("a", "Shop."+group+"/v1", "")
}
