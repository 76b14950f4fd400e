// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// A finalizer, related objects and a customize hook work without a program.
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
		spec.Hooks.Finalize = inline(t, `{children: [], finalized: "${size(children['ConfigMap.v1']) == 0}"}`)
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

// Fields that the schemas of the cluster do not have are warnings when a controller is applied.
func TestAnInlineHookIsComparedWithSchemas(t *testing.T) {
	t.Parallel()
	text := object{"type": "string"}
	f := &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing", Schema: object{
		"spec": object{"type": "object", "properties": object{"title": text}},
		"status": object{"type": "object", "properties": object{"ready": text, "observedGeneration": object{"type": "i" +
			"nteger"}}},
	}}, hook.Serve(t, answers(t, oneConfigMap)))}
	controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: harness.Name("warned")}}
	controller.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("CompositeController"))
	controller.Spec = f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = inline(t, `{status: {reday: "${parent.spec.tilte}"}, children: [
			{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {a: b}, data: {port: 80}}},
			{object: {apiVersion: v1, kind: Secret, metadata: {name: a}}}]}`)
	})
	manifest, err := yaml.Marshal(controller)
	if err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, func(ctx context.Context) error { // the cluster publishes the schema of a new type after a while
		apply := env.Host.KubectlCommand(ctx, "apply", "--dry-run=server", "-f", "-")
		apply.Stdin = bytes.NewReader(manifest)
		out, err := apply.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		kind := "Thing." + f.Parents.GroupVersion().String()
		for _, want := range []string{
			"spec.hooks.sync.inline.status.reday: " + kind + " has no field spec.tilte; did you mean title? (at 1:12 of " +
				"the expression)",
			"spec.hooks.sync.inline.status.reday: there is no such field in the status of " + kind + "; did you mean ready?",
			"spec.hooks.sync.inline.children[0].object.data.port: must be of type string in ConfigMap.v1, not integer",
			"spec.hooks.sync.inline.children[0].object.dta: there is no such field in ConfigMap.v1; did you mean data?",
			`spec.hooks.sync.inline.children[1].object.kind: spec.childResources declares no kind "Secret" in apiVersion ` +
				`"v1", ` +
				`so parents that want the object fail; declared are: ConfigMap.v1`,
		} {
			if !strings.Contains(string(out), want) {
				return fmt.Errorf("kubectl does not print %q:\n%s", want, out)
			}
		}
		return nil
	})
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

// All mistakes of a template are reported when it is applied.
func TestAnInlineHookThatIsRefused(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(),
		&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: harness.Name("refused")},
			Spec: f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
				both := inline(t, `{status: {a: "${prent.spec}", b: "${1 +}"}, children: [{object: {apiVersion: v1, `+
					`metadata: {name: a}}}]}`)
				both.Webhook = spec.Hooks.Sync.Webhook
				spec.Hooks.Sync = both
			})}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`spec.hooks.sync.inline: Forbidden: a hook has either a webhook or inline: remove one of them`,
		`spec.hooks.sync.inline.status.a: Invalid value: "prent.spec": at 1:1: undeclared reference to 'prent'; did ` +
			`you mean parent?`,
		`spec.hooks.sync.inline.status.b: Invalid value: "1 +": at 1:4: Syntax error`,
		`spec.hooks.sync.inline.children[0].object.kind: Required value`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
