// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// customizing sets the protocol versions of a customize and a sync hook.
func customizing(customize, sync v1alpha1.HookVersion) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
		spec.Hooks.Customize.Version = ptr.To(customize)
		spec.Hooks.Sync.Version = ptr.To(sync)
	}
}

// relating answers customize requests with the rules in the parent's spec.rules, and other requests
// with sync.
func relating(t testing.TB, sync func(request) object) hook.Handler {
	synced := answers(t, sync)
	return func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path != harness.CustomizePath {
			return synced(ctx, call)
		}
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Errorf("the customize hook was sent something that cannot be read: %v", err)
		}
		rules, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "rules")
		return hook.JSON(object{"relatedResources": rules})
	}
}

// nothing is an empty answer.
func nothing(request) object { return object{} }

// relatedKeys returns the keys of the related objects of a type in the last sync request, "absent"
// if there is no group for the type.
func (f *fixture) relatedKeys(parent, group string) (string, error) {
	f.Helper()
	calls := hook.Requests[request](f, f.Hook, harness.SyncPath, parent)
	if len(calls) == 0 {
		return "", errors.New("the sync hook has not been called")
	}
	objects, ok := calls[len(calls)-1].Related[group]
	if !ok {
		return "absent", nil
	}
	return strings.Join(slices.Sorted(maps.Keys(objects)), " "), nil
}

// waitForRelated waits until the last sync request has these related objects of a type.
func (f *fixture) waitForRelated(parent, group, want string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		got, err := f.relatedKeys(parent, group)
		if err == nil && got != want {
			err = fmt.Errorf("related to %s is %q, want %q", parent, got, want)
		}
		return err
	})
}

// putConfigMap creates or updates a ConfigMap.
func putConfigMap(t testing.TB, namespace, name string, labels, data map[string]string) {
	t.Helper()
	client := env.Kube.CoreV1().ConfigMaps(namespace)
	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}
	_, err := client.Create(t.Context(), desired, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(t.Context(), desired, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func labelNamespace(t testing.TB, name, patch string) {
	t.Helper()
	_, err := env.Kube.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":`+patch+`}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// rules returns the spec of a parent for which the customize hook answers these rules.
func rules(rules ...any) object {
	if rules == nil {
		rules = []any{}
	}
	return object{"rules": rules}
}

func matchLabels(key, value string) object { return object{"matchLabels": object{key: value}} }

// ofNamespace is the label with the name that the host sets on each namespace.
const ofNamespace = corev1.LabelMetadataName

// The related objects in sync requests depend on the protocol version of the hooks. Packages related and protocol test
// all rules, and hooks of different versions.
func TestRelatedObjectsByRuleAndProtocolVersion(t *testing.T) {
	t.Parallel()
	const v1, v2, configMaps, namespaces = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2, "ConfigMap.v1", "Namespace.v1"
	const refused = "refused"

	own, other, name := env.Namespace(t), env.Namespace(t), harness.Name("cm")
	for _, namespace := range []string{own, other} {
		putConfigMap(t, namespace, name, map[string]string{"test": name}, nil)
	}
	inOwn, inOther := own+"/"+name, other+"/"+name
	inBoth := strings.Join(slices.Sorted(slices.Values([]string{inOwn, inOther})), " ")
	tests := []struct {
		name  string
		rule  object
		group string
		// v1 and v2 are the keys.
		v1, v2 string
	}{
		{
			"label-selector", object{"apiVersion": "v1", "resource": "configmaps", "labelSelector": matchLabels("test", name)},
			configMaps, name, inBoth,
		},
		{
			"names", object{"apiVersion": "v1", "resource": "configmaps", "names": []any{name}},
			configMaps, name, inBoth,
		},
		{
			"names-in-other-namespace", object{"apiVersion": "v1", "resource": "configmaps", "namespace": other, "names": []any{name}},
			configMaps, refused, inOther,
		},
		{
			"labels-in-other-namespace",
			object{"apiVersion": "v1", "resource": "configmaps", "namespace": other, "labelSelector": matchLabels("test", name)},
			configMaps, refused, inOther,
		},
		{
			"namespace-selector",
			object{
				"apiVersion": "v1", "resource": "configmaps", "labelSelector": matchLabels("test", name),
				"namespaceSelector": matchLabels(ofNamespace, other),
			},
			configMaps, refused, inOther,
		},
		{
			"cluster-scoped-type", object{"apiVersion": "v1", "resource": "namespaces", "labelSelector": matchLabels(ofNamespace, other)},
			namespaces, "", other,
		},
	}
	for _, version := range []v1alpha1.HookVersion{v1, v2} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			f := start(t, relating(t, nothing), customizing(version, version))
			f.Namespace = own
			parent := func(test string) string { return fmt.Sprintf("%s-%s", test, version) }
			for _, test := range tests {
				f.CreateParent(parent(test.name), rules(test.rule))
			}
			for _, test := range tests {
				want := test.v1
				if version == v2 {
					want = test.v2
				}
				if want != refused {
					f.waitForRelated(parent(test.name), test.group, want)
					continue
				}
				event := env.WaitForEvent(t, f.Namespace, parent(test.name), "SyncError",
					"set spec.hooks.customize.version and spec.hooks.sync.version to v2")
				if named := "relatedResources[0] (configmaps in v1)"; !strings.Contains(event.Message, named) {
					t.Errorf("the event does not name %s: %s", named, event.Message)
				}
				if calls := hook.Requests[request](f, f.Hook, harness.SyncPath, parent(test.name)); len(calls) > 0 {
					t.Errorf("the sync hook was called %d times about %s", len(calls), parent(test.name))
				}
			}
		})
	}
}

// The customize hook of a cluster-scoped parent may select any objects, also in version v1.
func TestRelatedObjectsOfAClusterScopedParent(t *testing.T) {
	t.Parallel()
	one, two, name := env.Namespace(t), env.Namespace(t), harness.Name("cm")
	for _, namespace := range []string{one, two} {
		putConfigMap(t, namespace, name, map[string]string{"test": name}, nil)
	}
	inTwo, inBoth := two+"/"+name, strings.Join(slices.Sorted(slices.Values([]string{one + "/" + name, two + "/" + name})), " ")
	tests := []struct {
		name        string
		rule        object
		group, want string
	}{
		{"label-selector", object{"apiVersion": "v1", "resource": "configmaps", "labelSelector": matchLabels("test", name)}, "ConfigMap.v1", inBoth},
		{"names", object{"apiVersion": "v1", "resource": "configmaps", "names": []any{name}}, "ConfigMap.v1", inBoth},
		{"namespace", object{"apiVersion": "v1", "resource": "configmaps", "namespace": two, "names": []any{name}}, "ConfigMap.v1", inTwo},
		{
			"namespace-selector", object{
				"apiVersion": "v1", "resource": "configmaps", "labelSelector": matchLabels("test", name),
				"namespaceSelector": matchLabels(ofNamespace, two),
			}, "ConfigMap.v1", inTwo,
		},
		{"cluster-scoped-type", object{"apiVersion": "v1", "resource": "namespaces", "names": []any{two}}, "Namespace.v1", two},
	}
	f := &fixture{harness.Fixture{
		T: t, Env: env, Hook: hook.Serve(t, relating(t, nothing)),
		Parents: env.Install(t, harness.CRD{Kind: "Thing", ClusterScoped: true}),
	}}
	f.RunComposite(f.CompositeSpec(customizing(v1alpha1.HookVersionV1, v1alpha1.HookVersionV1)))
	for _, test := range tests {
		f.CreateParent(test.name, rules(test.rule))
	}
	for _, test := range tests {
		f.waitForRelated(test.name, test.group, test.want)
	}
}

func TestQ27NamesWithoutNamespaceStayInTheParentsNamespace(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, nothing), customizing(v1alpha1.HookVersionV1, v1alpha1.HookVersionV2))
	name := harness.Name("cm")
	putConfigMap(t, env.Namespace(t), name, nil, nil)
	f.CreateParent("a", rules(object{"apiVersion": "v1", "resource": "configmaps", "names": []any{name}}))
	f.waitForRelated("a", "ConfigMap.v1", "")
	putConfigMap(t, f.Namespace, name, nil, nil)
	f.waitForRelated("a", "ConfigMap.v1", f.Namespace+"/"+name)
}

// An error names the wrong rule, and the sync hook is not called. Packages related and protocol test which rules are
// wrong.
func TestRulesThatCannotBeMet(t *testing.T) {
	t.Parallel()
	f := start(t, relating(t, nothing), customizing(v1alpha1.HookVersionV2, v1alpha1.HookVersionV2))
	for _, test := range []struct {
		name string
		rule object
		want string
	}{
		{"namespaces-of-cluster-scoped", object{"resource": "namespaces", "namespaceSelector": object{}}, "Namespace.v1 is cluster-scoped"},
		// These cannot be listed at all.
		{"what-cannot-be-listed", object{"apiVersion": "authorization.k8s.io/v1", "resource": "subjectaccessreviews"}, "related SubjectAccessReview.authorization.k8s.io/v1 cannot be observed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := f.in(t)
			rule := object{"apiVersion": "v1", "resource": "configmaps"}
			maps.Copy(rule, test.rule)
			f.CreateParent(test.name, rules(rule))
			env.WaitForEvent(t, f.Namespace, test.name, "SyncError", test.want)
			if calls := hook.Requests[request](f, f.Hook, harness.SyncPath, test.name); len(calls) > 0 {
				t.Errorf("the sync hook was called %d times", len(calls))
			}
		})
	}
}
