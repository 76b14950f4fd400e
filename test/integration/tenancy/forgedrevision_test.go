// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// forgery makes a revision that of a parent in another namespace.
const forgery = `{
  "metadata": {"annotations": {"metacontroller.k8s.io/field-paths": "[\"metadata\",\"metadata.namespace\",\"metadata.name\",\"metadata.uid\",\"spec.value\"]"}},
  "parentPatch": {"metadata": {"namespace": "kube-system", "name": "evil", "uid": "evil"}, "spec": {"value": "forged"}}
}`

// A hook may write where its parent is. So whoever could have it told of a parent in kube-system would
// write there.
func TestAForgedRevisionMovesNoParent(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Answering(t, func(asked composite) object {
		var children []object
		for _, name := range []string{"first", "second"} {
			child := hook.ConfigMap(name, object{"value": valueOf(&asked.Parent)})
			child["metadata"].(object)["namespace"] = asked.Parent.GetNamespace()
			children = append(children, child)
		}
		return object{"children": children}
	}))
	who, from := f.newAccount(), env.AuditEnd(t)
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.in("kube-system").mayWriteChildren(who)

	f.RunComposite(f.CompositeSpec(limited(who), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"metadata.namespace", "metadata.name", "metadata.uid", "spec.value"}}
		spec.ChildResources[0].UpdateStrategy.Method = new(v1alpha1.ChildUpdateRollingInPlace)
		// ConfigMaps are never Ready, so a rollout stops after its first child.
		spec.ChildResources[0].UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
			Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}},
		}
	}))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("second", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("first", harness.HasData("value", "2"))

	env.Kubectl(t, "patch", "controllerrevisions.metacontroller.k8s.io", "-n", f.Namespace, f.revisionOf("second"), "--type=merge", "-p", forgery)
	f.Touch("a", "so that it is synced")
	env.Eventually(t, func(context.Context) error {
		if !slices.ContainsFunc(f.Hook.Calls(), func(call hook.Call) bool { return bytes.Contains(call.Body, []byte(`"value":"forged"`)) }) {
			return errors.New("the hook was not called with what is in the revision")
		}
		return nil
	})

	parent, err := f.GetParent(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range f.Hook.Calls() {
		var asked composite
		if err := call.Decode(&asked); err != nil {
			t.Fatal(err)
		}
		if told := asked.Parent; told.GetNamespace() != f.Namespace || told.GetName() != "a" || told.GetUID() != parent.GetUID() {
			t.Errorf("the hook was told of %s/%s (%s)", told.GetNamespace(), told.GetName(), told.GetUID())
		}
	}
	f.WaitForConfigMap("second", harness.HasData("value", "forged"))
	events, err := env.Host.Audit().Find(from, hostcluster.Request{User: user(who), Namespace: "kube-system"})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		t.Errorf("this was tried in kube-system: %s %s", event.Verb, event.RequestURI)
	}
}

// revisionOf returns the name of the revision that a child belongs to.
func (f *fixture) revisionOf(child string) string {
	f.Helper()
	revision := f.findRevisionOf(child)
	if revision == "" {
		f.Fatalf("no revision has the child %s", child)
	}
	return revision
}

// findRevisionOf is revisionOf, and returns nothing if there is none.
func (f *fixture) findRevisionOf(child string) (revision string) {
	f.Helper()
	for line := range strings.Lines(env.Kubectl(f, "get", "controllerrevisions.metacontroller.k8s.io", "-n", f.Namespace,
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.children[*].names}{"\n"}{end}`)) {
		if name, names, _ := strings.Cut(line, " "); strings.Contains(names, child) {
			revision = name
		}
	}
	return revision
}
