// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// unlisted is a type whose objects the host can list in version v1 only: nothing answers at its
// conversion webhook. One object exists.
func unlisted(t *testing.T, group, namespace string) (definition string) {
	t.Helper()
	definition = strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: old.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: old, singular: old, kind: Old}
  conversion: CONVERSION
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, "GROUP", group)
	env.Apply(t, strings.ReplaceAll(definition, "CONVERSION", "{strategy: None}"))
	env.WaitUntilServed(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "old"})
	env.Apply(t, fmt.Sprintf("apiVersion: %s/v1\nkind: Old\nmetadata: {name: one, namespace: %s}", group, namespace))
	env.Apply(t, strings.ReplaceAll(definition, "CONVERSION",
		"{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/convert'}}}"))
	return definition
}

// A controller whose new spec names a type that the host cannot list goes on with the former spec.
// The status says why. When the host can, the new spec replaces it.
func TestAControllerRunsOnWhileANewTypeCannotBeListed(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.WaitForReady(metav1.ConditionTrue, "Running")

	group := harness.Name("unlisted") + ".example.com"
	definition := unlisted(t, group, f.Namespace)
	f.PatchController(object{"spec": object{"childResources": []object{
		{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": object{"method": "InPlace"}},
		{"apiVersion": group + "/v2", "resource": "old"},
	}}})
	f.WaitForController(notReady("Old."+group+"/v2", "still runs"))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))

	env.Apply(t, strings.ReplaceAll(definition, "CONVERSION", "{strategy: None}"))
	f.WaitForReady(metav1.ConditionTrue, "Running")
	f.PatchParent("a", object{"spec": object{"value": "3"}})
	f.WaitForConfigMap("a", harness.HasData("value", "3"))
	calls := f.Hook.Calls()
	var last request
	if err := calls[len(calls)-1].Decode(&last); err != nil {
		t.Fatal(err)
	}
	if _, shown := last.Children["Old."+group+"/v2"]; !shown {
		t.Error("the last call of the hook does not show the new type, so the new spec does not run")
	}
}

func TestAControllerIsNotReadyWhileATypeCannotBeListed(t *testing.T) {
	t.Parallel()
	group := harness.Name("unlisted") + ".example.com"
	definition := unlisted(t, group, env.Namespace(t))
	f := start(t, answers(t, oneConfigMap), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = append(spec.ChildResources, v1alpha1.CompositeControllerChildResourceRule{
			ResourceRule: v1alpha1.ResourceRule{APIVersion: group + "/v2", Resource: "old"},
		})
	})
	f.WaitForController(notReady("Old." + group + "/v2"))
	env.Apply(t, strings.ReplaceAll(definition, "CONVERSION", "{strategy: None}"))
	f.WaitForReady(metav1.ConditionTrue, "Running")
}

// A controller says why the cluster does not serve its type, and runs once the other definition is gone.
func TestADefinitionWhoseNamesAreInUse(t *testing.T) {
	t.Parallel()
	group := harness.Name("twice") + ".example.com"
	define := func(plural, names string) {
		env.Apply(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, %[3]s}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
`, plural, group, names))
	}
	define("sites", "kind: Site, singular: site")
	env.WaitUntilServed(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "sites"})
	define("websites", "kind: Website, singular: website, shortNames: [site]")
	f := start(t, answers(t, oneConfigMap), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.ResourceRule = v1alpha1.ResourceRule{APIVersion: group + "/v1", Resource: "websites"}
	})
	f.WaitForController(notReady("the cluster does not serve it; the cluster does not accept the names in its "+
		"CustomResourceDefinition: ", `"site" is already in use`))
	env.Kubectl(t, "delete", "crd", "sites."+group)
	f.WaitForReady(metav1.ConditionTrue, "Running")
}

// notReady returns a check that Ready is False with a message that has these words.
func notReady(words ...string) func(metav1.ObjectMeta, v1alpha1.ControllerStatus) error {
	return func(object metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		for _, condition := range status.Conditions {
			if condition.Type != v1alpha1.ConditionReady || condition.ObservedGeneration != object.Generation || condition.Status != metav1.ConditionFalse {
				continue
			}
			for _, word := range words {
				if !strings.Contains(condition.Message, word) {
					return fmt.Errorf("the condition should contain %q, but is %v", word, condition)
				}
			}
			return nil
		}
		return fmt.Errorf("the condition Ready should be False, but the conditions are %v", status.Conditions)
	}
}
