// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// counting answers with a label that counts the related Secrets.
func counting(asked request) object {
	return object{"labels": object{"secrets": fmt.Sprint(len(asked.Related["Secret.v1"]))}}
}

// related runs a controller whose targets get a label with the number of their related Secrets.
func related(t *testing.T, changes ...change) *fixture {
	t.Helper()
	return start(t, byPath(t, map[string]func(request) object{harness.SyncPath: counting, harness.CustomizePath: relating, harness.FinalizePath: counting}),
		append([]change{withCustomize}, changes...)...)
}

// putSecret creates a Secret with a name that only its namespace has.
func putSecret(t *testing.T, namespace, name string) {
	t.Helper()
	_, err := env.Kube.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) labelSecret(namespace, name, value string) {
	f.Helper()
	body := harness.JSON(f, object{"metadata": object{"labels": object{"test": value}}})
	_, err := env.Kube.CoreV1().Secrets(namespace).Patch(f.Context(), name+"-"+namespace, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

// Each form of a rule, and the changes that lead to a sync.
func TestRelatedObjectsTriggerASync(t *testing.T) {
	t.Parallel()
	f := related(t, speaking(v1alpha1.HookVersionV2))
	mark, other := harness.Name("mark"), env.Namespace(t)
	secrets := func(rule object) object {
		rule["apiVersion"], rule["resource"] = "v1", "secrets"
		return object{"related": []any{rule}}
	}
	labels := object{"matchLabels": object{"test": mark}}
	rules := map[string]object{
		"names":              {"names": []any{"s-" + f.Namespace, "s-" + other}},
		"names-in-namespace": {"names": []any{"s-" + f.Namespace, "s-" + other}, "namespace": other},
		"labels":             {"labelSelector": labels},
		"labels-in-one":      {"labelSelector": labels, "namespace": other},
		"namespaces":         {"labelSelector": labels, "namespaceSelector": object{"matchLabels": object{corev1.LabelMetadataName: f.Namespace}}},
	}
	for name, rule := range rules {
		f.CreateParent(name, secrets(rule))
		f.waitForLabel(name, "secrets", "0")
	}
	expect := func(names, inNamespace, labels, inOne, namespaces string) {
		t.Helper()
		f.waitForLabel("names", "secrets", names)
		f.waitForLabel("names-in-namespace", "secrets", inNamespace)
		f.waitForLabel("labels", "secrets", labels)
		f.waitForLabel("labels-in-one", "secrets", inOne)
		f.waitForLabel("namespaces", "secrets", namespaces)
	}
	putSecret(t, f.Namespace, "s")
	expect("1", "0", "0", "0", "0")
	putSecret(t, other, "s")
	expect("2", "1", "0", "0", "0")
	f.labelSecret(f.Namespace, "s", mark)
	expect("2", "1", "1", "0", "1")
	f.labelSecret(other, "s", mark)
	expect("2", "1", "2", "1", "1")
	f.labelSecret(f.Namespace, "s", "none")
	expect("2", "1", "1", "1", "0")
	if err := env.Kube.CoreV1().Secrets(other).Delete(t.Context(), "s-"+other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("1", "0", "0", "0", "0")
	for name := range rules {
		if calls := hook.Requests[request](f, f.Hook, harness.CustomizePath, name); len(calls) > 8 {
			t.Errorf("the customize hook was called %d times about %s", len(calls), name)
		}
	}
}

// The customize hook is not called about targets that are not selected. The finalize hook is sent
// related objects. A rule that is not allowed is an error of the target.
func TestCustomizeOfTargets(t *testing.T) {
	t.Parallel()
	f := related(t, withFinalize, selecting)
	putSecret(t, f.Namespace, "s")
	own := object{"related": []any{object{"apiVersion": "v1", "resource": "secrets", "names": []any{"s-" + f.Namespace}}}}
	f.CreateParent("unselected", own)
	f.CreateParentWith("a", selected(), own)
	f.waitForLabel("a", "secrets", "1")
	f.DeleteParent("a")
	harness.WaitForRequest(&f.Fixture, harness.FinalizePath, "a", func(asked request) bool { return len(asked.Related["Secret.v1"]) == 1 })

	f.CreateParentWith("elsewhere", selected(), object{"related": []any{object{"apiVersion": "v1", "resource": "secrets", "namespace": "default"}}})
	env.WaitForEvent(t, f.Namespace, "elsewhere", "SyncError", `namespace "default" is not the namespace of the parent`)
	if calls := hook.Requests[request](f, f.Hook, harness.SyncPath, "elsewhere"); len(calls) > 0 {
		t.Error("the sync hook was called although related objects are not known")
	}
	if calls := hook.Requests[request](f, f.Hook, harness.CustomizePath, "unselected"); len(calls) > 0 {
		t.Errorf("the customize hook was called %d times about a target that is not selected", len(calls))
	}
}
