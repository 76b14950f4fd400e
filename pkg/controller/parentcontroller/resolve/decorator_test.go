// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// decoratorController is a DecoratorController with a spec in YAML.
func decoratorController(t *testing.T, spec string) *v1alpha1.DecoratorController {
	t.Helper()
	object := &v1alpha1.DecoratorController{}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {name: pages}, spec: `+spec+`}`), object); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return object
}

func resolveDecorator(t *testing.T, spec string) (*parentcontroller.Spec, error) {
	t.Helper()
	return Decorator(t.Context(), hosttest.Discovery(t), decoratorController(t, spec))
}

const allWebs = `resources: [{apiVersion: ctl.example/v1, resource: webs}]`

func TestTargets(t *testing.T) {
	type target struct {
		of      object.Type
		rules   int
		foreign bool // its status has another writer
	}
	tests := map[string]struct {
		resources string
		want      []target
	}{
		"one type": {`[{apiVersion: ctl.example/v1, resource: webs}]`, []target{{hosttest.Webs(), 1, false}}},
		"several types": {
			`[{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: namespaces}, {apiVersion: ctl.example/v1, resource: visits}]`,
			[]target{
				{hosttest.Pods(), 1, true}, {hosttest.Namespaces(), 1, true},
				{object.Type{GroupVersionResource: hosttest.Webs().GroupVersion().WithResource("visits"), Kind: "Visit", Namespaced: true}, 1, true},
			},
		},
		"one without a status subresource": {`[{apiVersion: ctl.example/v1, resource: plains}]`, []target{{hosttest.Plains(), 1, false}}},
		"Q41: two rules for one type": {
			`[{apiVersion: v1, resource: pods, labelSelector: {matchLabels: {a: b}}}, {apiVersion: v1, resource: namespaces}, {apiVersion: v1, resource: pods}]`,
			[]target{{hosttest.Pods(), 2, true}, {hosttest.Namespaces(), 1, true}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveDecorator(t, `{resources: `+test.resources+`, `+syncHook+`}`)
			if err != nil {
				t.Fatal(err)
			}
			var got []target
			for _, found := range spec.Targets {
				got = append(got, target{found.Type, len(found.Rules), found.ForeignStatus})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(target{})); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorsOfARule(t *testing.T) {
	spec, err := resolveDecorator(t, `{resources: [{apiVersion: v1, resource: pods, labelSelector: {matchLabels: {run: here}},
		annotationSelector: {matchAnnotations: {what: "any text, of any length"}, matchExpressions: [{key: not, operator: DoesNotExist}]},
		ignoreStatusChanges: true}], `+syncHook+`}`)
	if err != nil {
		t.Fatal(err)
	}
	rule := spec.Targets[0].Rules[0]
	if got := rule.Labels.String(); got != "run=here" || !rule.IgnoreStatusChanges {
		t.Errorf("labels are selected by %s, status changes ignored: %v", got, rule.IgnoreStatusChanges)
	}
	matches := func(annotations map[string]string) bool {
		return rule.Annotations.Matches(&object.Object{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
	}
	if !matches(map[string]string{"what": "any text, of any length"}) ||
		matches(map[string]string{"what": "any text, of any length", "not": ""}) || matches(nil) {
		t.Errorf("annotations are selected by %+v", rule.Annotations)
	}
}

// Attachments are not rolled out: a rolling method updates them all at once.
func TestAttachmentTypes(t *testing.T) {
	pod, namespace := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "Namespace"}
	web, plain := schema.GroupKind{Group: "ctl.example", Kind: "Web"}, schema.GroupKind{Group: "ctl.example", Kind: "Plain"}
	spec, err := resolveDecorator(t, `{`+allWebs+`, `+syncHook+`, resyncPeriodSeconds: 30, attachments: [
		{apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}, {apiVersion: v1, resource: namespaces, updateStrategy: {method: RollingInPlace}},
		{apiVersion: ctl.example/v1, resource: webs, updateStrategy: {method: InPlace}}, {apiVersion: ctl.example/v1, resource: plains, updateStrategy: {method: Recreate}},
		{apiVersion: ctl.example/v1, resource: visits}]}`)
	if err != nil {
		t.Fatal(err)
	}
	visit := schema.GroupKind{Group: "ctl.example", Kind: "Visit"}
	want := plan.Strategies{pod: {Method: plan.Recreate}, namespace: {Method: plan.InPlace}, web: {Method: plan.InPlace}, plain: {Method: plan.Recreate}, visit: {}}
	for i, kind := range []schema.GroupKind{pod, namespace, web, plain, visit} {
		strategy := want[kind]
		strategy.Field = fmt.Sprintf("spec.attachments[%d].updateStrategy.method", i)
		want[kind] = strategy
	}
	if diff := cmp.Diff(want, spec.Strategies); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
	if len(spec.Children) != 5 || spec.Resync != 30*time.Second || spec.Name != "pages" || spec.Kind.Finalizer(spec.Name) != "metacontroller.io/decoratorcontroller-pages" {
		t.Errorf("the spec is %+v", spec)
	}
}

func TestDecoratorRefuses(t *testing.T) {
	isUnknown := func(err error) bool { _, ok := errors.AsType[*discovery.UnknownTypeError](err); return ok }
	isUnreachable := func(err error) bool { _, ok := errors.AsType[*discovery.Error](err); return ok }
	isInvalid := func(err error) bool { return !isUnknown(err) && !isUnreachable(err) }
	const notServedByKubernetes = `: the cluster does not serve it; check the spelling (resource is the plural, in lower case)`
	const notServed = notServedByKubernetes + `, or create its CustomResourceDefinition`
	tests := map[string]struct {
		spec string
		is   func(error) bool
		want string
	}{
		"no hooks": {`{` + allWebs + `}`, isInvalid, "no hooks defined"},
		"no sync hook": {`{` + allWebs + `, hooks: {}}`, isInvalid, "no sync hook defined: set spec.hooks.sync.webhook or " +
			"spec.hooks.sync.inline"},
		"a target type that is not there": {
			`{resources: [{apiVersion: ctl.example/v1, resource: webs}, {apiVersion: ctl.example/v1, resource: shops}], ` + syncHook + `}`, isUnknown,
			`target type: can't find resource "shops" in apiVersion "ctl.example/v1"` + notServed,
		},
		"an attachment type that is not there": {
			`{` + allWebs + `, ` + syncHook + `, attachments: [{apiVersion: v1, resource: pots}]}`, isUnknown,
			`child type: can't find resource "pots" in apiVersion "v1"` + notServedByKubernetes,
		},
		"a target type that the host cannot tell of now": {
			`{resources: [{apiVersion: down.example/v1, resource: webs}], ` + syncHook + `}`, isUnreachable,
			`target type: the cluster did not return the resources of apiVersion "down.example/v1": no answer`,
		},
		"a label selector that is none": {
			`{resources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}], ` + syncHook + `}`, isInvalid,
			`can't convert spec.resources[0].labelSelector: "Like" is not a valid label selector operator`,
		},
		"an annotation selector that is none": {
			`{resources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: pods, annotationSelector: {matchExpressions: [{key: a, operator: In}]}}], ` + syncHook + `}`,
			isInvalid, `can't convert spec.resources[1].annotationSelector: annotation "a": operator In needs values`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveDecorator(t, test.spec)
			if err == nil {
				t.Fatalf("resolved to %+v", spec)
			}
			if err.Error() != test.want {
				t.Errorf("error is\n%s\nwant\n%s", err, test.want)
			}
			if !test.is(err) {
				t.Errorf("the error is of another kind: %#v", err)
			}
		})
	}
}

// Hooks read the controller with its kind and an empty status, as the original sends it.
func TestTheDecoratorControllerAsHooksAreSentIt(t *testing.T) {
	object := decoratorController(t, `{`+allWebs+`, `+syncHook+`}`)
	object.UID, object.ResourceVersion = "u", "7"
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	object.Status = v1alpha1.ControllerStatus{ObservedGeneration: 3}
	spec, err := Decorator(t.Context(), hosttest.Discovery(t), object)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(spec.Object, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "DecoratorController",
		"metadata": map[string]any{"name": "pages", "uid": "u", "resourceVersion": "7"},
		"spec": map[string]any{
			"resources": []any{map[string]any{"apiVersion": "ctl.example/v1", "resource": "webs"}},
			"hooks":     map[string]any{"sync": map[string]any{"webhook": map[string]any{"url": "http://hooks.example"}}},
		},
		"status": map[string]any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// The parents of the other types must not hang because of it.
func TestOneOfSeveralTargetTypesIsMissing(t *testing.T) {
	const missing = `{apiVersion: ctl.example/v1, resource: shops}`
	for resources, want := range map[string]bool{
		`[` + missing + `]`:                                               false,
		`[` + missing + `, ` + missing + `]`:                              false,
		`[` + missing + `, {apiVersion: ctl.example/v1, resource: webs}]`: true,
	} {
		_, err := resolveDecorator(t, `{resources: `+resources+`, `+syncHook+`}`)
		if err == nil || parentcontroller.LacksType(err) != want {
			t.Errorf("of %s, that the controller can run without it is not %v: %v", resources, want, err)
		}
	}
}
