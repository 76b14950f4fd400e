// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// inline returns a hook that is written in the controller.
func inline(t testing.TB, template string) *v1alpha1.Hook {
	t.Helper()
	made := &v1alpha1.Hook{Inline: &v1alpha1.InlineHook{}}
	if err := yaml.UnmarshalStrict([]byte(template), made.Inline); err != nil {
		t.Fatal(err)
	}
	return made
}

// website makes children of three types, with a loop and a condition, and counts them in the status.
const website = `
variables:
- {name: pages, expression: "children['ConfigMap.v1']"}
status:
  pages: ${size(variables.pages)}
  title: ${parent.spec.?title}
children:
- forEach: {language: "${parent.spec.languages}"}
  object:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${parent.metadata.name}-${language}"}
    data: {text: "${parent.spec.greeting} in ${language}", script: "echo $${HOME}"}
- when: ${parent.spec.public}
  object:
    apiVersion: v1
    kind: Service
    metadata: {name: "${parent.metadata.name}"}
    spec: {selector: {app: "${parent.metadata.name}"}, ports: [{port: "${parent.spec.port}"}]}
- object:
    apiVersion: v1
    kind: Secret
    metadata: {name: "${parent.metadata.name}"}
    data: {token: "${base64.encode(bytes(hash.sha256(parent.metadata.name)))}"}
`

func TestAnInlineHook(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = inline(t, website)
		spec.ChildResources = append(spec.ChildResources, harness.ChildRule("v1", "services", v1alpha1.ChildUpdateInPlace),
			harness.ChildRule("v1", "secrets", v1alpha1.ChildUpdateInPlace))
	}))
	f.CreateParent("a", object{"languages": []string{"en", "de"}, "greeting": "Hello", "public": true, "port": 80})
	f.WaitForConfigMap("a-en", harness.HasData("text", "Hello in en"))
	f.WaitForConfigMap("a-de", harness.HasData("script", "echo ${HOME}"))
	f.WaitForParent("a", func(parent *unstructured.Unstructured) error {
		status, _, _ := unstructured.NestedMap(parent.Object, "status")
		if status["pages"] != int64(2) || status["title"] != nil {
			return fmt.Errorf("status %v", status)
		}
		return nil
	})
	if _, err := env.Kube.CoreV1().Services(f.Namespace).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := env.Kube.CoreV1().Secrets(f.Namespace).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	f.PatchParent("a", object{"spec": object{"languages": []string{"fr"}, "greeting": "Salut"}})
	f.WaitForConfigMap("a-fr", harness.HasData("text", "Salut in fr"))
	f.WaitUntilConfigMapIsGone("a-de")

	// An error is about one parent, names its field, and changes nothing.
	f.PatchParent("a", object{"spec": object{"greeting": nil}})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError",
		"sync hook failed: inline: children[0].object.data.text: no such key: greeting (at 1:12 of the expression)")
	if !f.HasConfigMap("a-fr") {
		t.Error("a failed evaluation deleted a child")
	}
	calls, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "parent=a,result=Failed"})
	if err != nil || len(calls.Items) == 0 {
		t.Fatalf("%d failed calls, error %v", len(calls.Items), err)
	}
	if call := calls.Items[0]; call.Spec.URL != "inline" || !strings.Contains(call.Status.Message, "no such key: "+
		"greeting") {
		t.Errorf("call %+v", call)
	}
}

// A finalizer, related objects and a customize hook work without a program. The finalize hook sees related objects,
// too.
func TestInlineHooksOfAllKinds(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "source"}, Data: map[string]string{"value": "1"}}
	_, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), source, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Customize = inline(t, `relatedResources: [{apiVersion: v1, resource: configmaps, names: `+
			`["${parent.spec.from}"]}]`)
		spec.Hooks.Sync = inline(t, `
variables: [{name: sources, expression: "related['ConfigMap.v1']"}]
events: [{reason: Copied, message: "from ${parent.spec.from}"}]
children:
- forEach: {key: variables.sources}
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: `+
			`"${variables.sources[key].data}"}`)
		spec.Hooks.Finalize = inline(t, `{children: [], finalized: "${size(children['ConfigMap.v1']) == 0 && `+
			`size(related['ConfigMap.v1']) > 0}"}`)
	}))
	f.CreateParent("copy", object{"from": "source"})
	f.WaitForConfigMap("copy", harness.HasData("value", "1"))
	f.WaitForFinalizers("copy", f.Finalizer())
	f.PatchConfigMap("source", object{"data": object{"value": "2"}})
	f.WaitForConfigMap("copy", harness.HasData("value", "2"))
	env.WaitForEvent(t, f.Namespace, "copy", "Copied", "from source")
	f.DeleteParent("copy")
	f.WaitUntilParentIsGone("copy")
	f.WaitUntilConfigMapIsGone("copy")
}

// Children of an inline hook roll out, and a preview evaluates a hook that is not stored.
func TestInlineHooksRollOutAndArePreviewed(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	template := `
children:
- forEach: {key: parent.spec.keys}
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-${key}"}, data: {value: ` +
		`"${parent.spec.value}"}}`
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = inline(t, template)
		spec.ChildResources[0] = harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateRollingInPlace)
	}))
	f.CreateParent("a", object{"keys": []string{"x", "y"}, "value": "1"})
	f.WaitForConfigMap("a-y", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a-x", harness.HasData("value", "2"))
	f.WaitForConfigMap("a-y", harness.HasData("value", "2"))

	review := &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: f.Controller.Name},
		Parent: &v1alpha1.SyncReviewParent{
			APIVersion: f.Parents.GroupVersion().String(), Kind: "Thing", Namespace: f.Namespace, Name: "a",
		},
		Candidate: &runtime.RawExtension{Raw: candidate(t, f, strings.Replace(template, "parent.spec.value}", "parent."+
			"spec.value}0", 1))},
		Calls: v1alpha1.SyncReviewCallsNone,
	}}
	reviews := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews()
	answered, err := reviews.Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || len(answered.Status.Syncs) != 1 {
		t.Fatalf("%+v, error %v", answered, err)
	}
	if sync := answered.Status.Syncs[0]; sync.Error != "" || len(sync.Calls) == 0 || sync.Calls[0].Response == nil ||
		!strings.Contains(string(sync.Calls[0].Response.Raw), `"value":"20"`) {
		t.Errorf("the review is %+v", sync)
	}
}

// candidate returns the spec of the controller of a fixture, with another hook.
func candidate(t *testing.T, f *fixture, template string) []byte {
	t.Helper()
	stored, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), f.Controller.Name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Spec.Hooks.Sync = inline(t, template)
	raw, err := json.Marshal(stored.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The condition Warnings has what does not fit the schemas, and follows them.
func TestAnInlineHookWhoseSchemasChange(t *testing.T) {
	t.Parallel()
	title := object{"title": object{"type": "string"}}
	f := &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing", Schema: object{
		"spec":   object{"type": "object", "properties": title},
		"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}, hook.Serve(t, answers(t, oneConfigMap)))}
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = inline(t, `{variables: [{name: spec, expression: parent.spec}],
			status: {title: "${variables.spec.title}"}}`)
	}))
	waitFor := func(reason, message string) {
		t.Helper()
		f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
			said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionWarnings)
			if said == nil || said.Reason != reason || said.Message != message {
				return fmt.Errorf("the condition Warnings is %v, want %s: %s", said, reason, message)
			}
			return nil
		})
	}
	replace := func(properties object) {
		t.Helper()
		patch := harness.JSON(t, []object{{"op": "replace", "value": properties,
			"path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"}})
		_, err := env.Dynamic.Resource(definitions).Patch(t.Context(), f.Parents.GroupResource().String(),
			types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	field, kind := "spec.hooks.sync.inline.status.title: ", "Thing."+f.Parents.GroupVersion().String()
	waitFor(v1alpha1.ReasonNoWarnings, "no warnings")
	replace(object{"titles": object{"type": "string"}})
	waitFor(v1alpha1.ReasonSchemaMismatch,
		field+kind+" has no field spec.title; did you mean titles? (at 1:15 of the expression)")
	replace(title)
	waitFor(v1alpha1.ReasonNoWarnings, "no warnings")
}
