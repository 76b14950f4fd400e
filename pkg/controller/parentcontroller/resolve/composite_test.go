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

var webs, plains, pods, namespaces = hosttest.Webs(), hosttest.Plains(), hosttest.Pods(), hosttest.Namespaces()

// compositeController is a CompositeController with a spec in YAML.
func compositeController(t *testing.T, spec string) *v1alpha1.CompositeController {
	t.Helper()
	object := &v1alpha1.CompositeController{}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {name: webs}, spec: `+spec+`}`), object); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return object
}

func resolveComposite(t *testing.T, spec string) (*parentcontroller.Spec, error) {
	t.Helper()
	return Composite(t.Context(), hosttest.Discovery(t), compositeController(t, spec))
}

const (
	parentWebs = `parentResource: {apiVersion: ctl.example/v1, resource: webs}`
	syncHook   = `hooks: {sync: {webhook: {url: "http://hooks.example"}}}`
)

// methodOf is the field with the update method of a child type.
func methodOf(i int) string { return fmt.Sprintf("spec.childResources[%d].updateStrategy.method", i) }

func TestComposite(t *testing.T) {
	type resolved struct {
		Parent              object.Type
		Selector            string
		IgnoreStatusChanges bool
		Children            []object.Type
		Strategies          plan.Strategies
		Resync              time.Duration
	}
	podKind, namespaceKind := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "Namespace"}
	tests := map[string]struct {
		spec string
		want resolved
	}{
		"the least there is": {
			spec: `{` + parentWebs + `, ` + syncHook + `}`,
			want: resolved{Parent: webs, Strategies: plan.Strategies{}},
		},
		"everything": {
			spec: `{parentResource: {apiVersion: ctl.example/v1, resource: webs, labelSelector: {matchLabels: {run: here}}, ignoreStatusChanges: true},
				generateSelector: true, resyncPeriodSeconds: 30, ` + syncHook + `,
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace, apply: DynamicApply}},
					{apiVersion: v1, resource: namespaces, updateStrategy: {method: Recreate, apply: ServerSideApply}}]}`,
			want: resolved{
				Parent: webs, Selector: "run=here", IgnoreStatusChanges: true, Resync: 30 * time.Second,
				Children: []object.Type{pods, namespaces}, Strategies: plan.Strategies{
					podKind:       {Method: plan.InPlace, Engine: plan.DynamicApply, Field: methodOf(0)},
					namespaceKind: {Method: plan.Recreate, Engine: plan.ServerSideApply, Field: methodOf(1)},
				},
			},
		},
		"switches that are off": {
			spec: `{parentResource: {apiVersion: ctl.example/v1, resource: webs, ignoreStatusChanges: false}, generateSelector: false, ` + syncHook + `}`,
			want: resolved{Parent: webs, Strategies: plan.Strategies{}},
		},
		"a child type without an update strategy": {
			spec: `{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: v1, resource: pods}]}`,
			want: resolved{Parent: webs, Children: []object.Type{pods}, Strategies: plan.Strategies{podKind: {Field: methodOf(0)}}},
		},
		"child types that are rolled out": {
			spec: `{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: RollingInPlace}},
				{apiVersion: v1, resource: namespaces, updateStrategy: {method: RollingRecreate}}]}`,
			want: resolved{Parent: webs, Children: []object.Type{pods, namespaces}, Strategies: plan.Strategies{
				podKind: {Method: plan.InPlace, Rolls: true, Field: methodOf(0)}, namespaceKind: {Method: plan.Recreate, Rolls: true, Field: methodOf(1)}}},
		},
		"a child type of the parent's group, without a status": {
			spec: `{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: ctl.example/v1, resource: plains}]}`,
			want: resolved{Parent: webs, Children: []object.Type{plains}, Strategies: plan.Strategies{plains.GroupKind(): {Field: methodOf(0)}}},
		},
		"a child type that is named twice": {
			spec: `{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}},
				{apiVersion: v1, resource: namespaces}, {apiVersion: v1, resource: pods}]}`,
			want: resolved{Parent: webs, Children: []object.Type{pods, namespaces}, Strategies: plan.Strategies{podKind: {Method: plan.InPlace, Field: methodOf(0)}, namespaceKind: {Field: methodOf(1)}}},
		},
		"a period below a second is a second": {
			spec: `{` + parentWebs + `, ` + syncHook + `, resyncPeriodSeconds: 0}`,
			want: resolved{Parent: webs, Strategies: plan.Strategies{}, Resync: time.Second},
		},
		"a parent of a built-in type": {
			spec: `{parentResource: {apiVersion: v1, resource: pods}, ` + syncHook + `}`,
			want: resolved{Parent: pods, Strategies: plan.Strategies{}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveComposite(t, test.spec)
			if err != nil {
				t.Fatal(err)
			}
			got := resolved{
				spec.Targets[0].Type, spec.Targets[0].Rules[0].Labels.String(), spec.Targets[0].Rules[0].IgnoreStatusChanges, spec.Children, spec.Strategies, spec.Resync,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("resolved (-want +got):\n%s", diff)
			}
			if spec.Name != "webs" || *spec.Sync.Webhook.URL != "http://hooks.example" {
				t.Errorf("the name is %q, the hook is %v", spec.Name, spec.Sync)
			}
		})
	}
}

func TestQ12HooksThatLeadNowhereAreNone(t *testing.T) {
	const sync, finalize = `sync: {webhook: {url: "http://sync.example"}}`, `finalize: {webhook: {url: "http://finalize.example"}}`
	tests := map[string]struct {
		hooks          string
		sync, finalize bool
	}{
		"both":                            {sync + ", " + finalize, true, true},
		"no finalize hook":                {sync, true, false},
		"a finalize hook without webhook": {sync + ", finalize: {version: v1}", true, false},
		"only a finalize hook":            {finalize, false, true},
		"a sync hook without webhook":     {"sync: {}, " + finalize, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveComposite(t, `{`+parentWebs+`, hooks: {`+test.hooks+`}}`)
			if err != nil {
				t.Fatal(err)
			}
			if (spec.Sync != nil) != test.sync || (spec.Finalize != nil) != test.finalize {
				t.Errorf("the sync hook is %v, the finalize hook %v", spec.Sync, spec.Finalize)
			}
		})
	}
}

func TestWhoseStatusTheParentsIs(t *testing.T) {
	tests := map[string]struct {
		apiVersion, resource string
		foreign              bool
	}{
		"a CustomResourceDefinition's":                   {"ctl.example/v1", "webs", false},
		"a built-in type's":                              {"v1", "pods", true},
		"a type of an API server, without a subresource": {"ctl.example/v1", "visits", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveComposite(t, fmt.Sprintf(`{parentResource: {apiVersion: %s, resource: %s}, %s}`, test.apiVersion, test.resource, syncHook))
			if err != nil {
				t.Fatal(err)
			}
			if spec.Targets[0].ForeignStatus != test.foreign {
				t.Errorf("the status is foreign: %v, want %v", spec.Targets[0].ForeignStatus, test.foreign)
			}
		})
	}
}

func TestCompositeRefuses(t *testing.T) {
	isUnknown := func(err error) bool { _, ok := errors.AsType[*discovery.UnknownTypeError](err); return ok }
	isNoStatus := func(err error) bool { _, ok := errors.AsType[*NoStatusSubresourceError](err); return ok }
	isUnreachable := func(err error) bool { _, ok := errors.AsType[*discovery.Error](err); return ok }
	isInvalid := func(err error) bool {
		return !isUnknown(err) && !isNoStatus(err) && !isUnreachable(err)
	}
	const notServedByKubernetes = `: the cluster does not serve it; check the spelling (resource is the plural, in lower case)`
	const notServed = notServedByKubernetes + `, or create its CustomResourceDefinition`
	tests := map[string]struct {
		spec string
		is   func(error) bool
		want string
	}{
		"no hooks": {`{` + parentWebs + `}`, isInvalid, "no hooks defined"},
		"no sync hook": {`{` + parentWebs + `, hooks: {}}`, isInvalid, "no sync hook defined: set " +
			"spec.hooks.sync.webhook or spec.hooks.sync.inline"},
		"a sync hook without webhook": {`{` + parentWebs + `, hooks: {sync: {}}}`, isInvalid, "no sync hook defined: set " +
			"spec.hooks.sync.webhook or spec.hooks.sync.inline"},
		"a parent type that is not there": {
			`{parentResource: {apiVersion: ctl.example/v1, resource: shops}, ` + syncHook + `}`, isUnknown,
			`parent type: can't find resource "shops" in apiVersion "ctl.example/v1"` + notServed,
		},
		"a parent type in the singular": {
			`{parentResource: {apiVersion: ctl.example/v1, resource: web}, ` + syncHook + `}`, isUnknown,
			`parent type: can't find resource "web" in apiVersion "ctl.example/v1"` + notServed,
		},
		"a parent type in a group that is not there": {
			`{parentResource: {apiVersion: gone.example/v1, resource: webs}, ` + syncHook + `}`, isUnknown,
			`parent type: can't find resource "webs" in apiVersion "gone.example/v1"` + notServed,
		},
		"a subresource as the parent type": {
			`{parentResource: {apiVersion: ctl.example/v1, resource: webs/status}, ` + syncHook + `}`, isUnknown,
			`parent type: can't find resource "webs/status" in apiVersion "ctl.example/v1"` + notServed,
		},
		"a parent type without a status subresource": {
			`{parentResource: {apiVersion: ctl.example/v1, resource: plains}, ` + syncHook + `}`, isNoStatus,
			"Plain.ctl.example/v1 has no status subresource; add `subresources: {status: {}}` to the version in its CustomResourceDefinition",
		},
		"a group that the host cannot tell of now": {
			`{parentResource: {apiVersion: down.example/v1, resource: webs}, ` + syncHook + `}`, isUnreachable,
			`parent type: the cluster did not return the resources of apiVersion "down.example/v1": no answer`,
		},
		"an apiVersion that is none": {
			`{parentResource: {apiVersion: a/b/c, resource: webs}, ` + syncHook + `}`, isInvalid,
			`parent type: apiVersion "a/b/c": unexpected GroupVersion string: a/b/c`,
		},
		"a label selector that is none": {
			`{parentResource: {apiVersion: ctl.example/v1, resource: webs, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}, ` + syncHook + `}`, isInvalid,
			`can't convert spec.parentResource.labelSelector: "Like" is not a valid label selector operator`,
		},
		"a child type that is not there": {
			`{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: pots}]}`, isUnknown,
			`child type: can't find resource "pots" in apiVersion "v1"` + notServedByKubernetes,
		},
		"a child type that the host cannot tell of now": {
			`{` + parentWebs + `, ` + syncHook + `, childResources: [{apiVersion: down.example/v1, resource: pods}]}`, isUnreachable,
			`child type: the cluster did not return the resources of apiVersion "down.example/v1": no answer`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := resolveComposite(t, test.spec)
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

// Hooks read the controller as the original sends it: with its kind, an empty status, and an object
// for statusChecks that are not set.
func TestTheCompositeControllerAsHooksAreSentIt(t *testing.T) {
	object := compositeController(t, `{`+parentWebs+`, `+syncHook+`, generateSelector: true,
		childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: namespaces}]}`)
	object.UID, object.Generation, object.ResourceVersion = "u", 3, "7"
	object.Labels = map[string]string{"a": "b"}
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	object.Status = v1alpha1.ControllerStatus{ObservedGeneration: 3, Parents: &v1alpha1.ParentCounts{Total: 5}}
	before := object.DeepCopy()

	spec, err := Composite(t.Context(), hosttest.Discovery(t), object)
	if err != nil {
		t.Fatal(err)
	}
	got := spec.Object
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
	const want = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1",
		"metadata":{"name":"webs","uid":"u","resourceVersion":"7","generation":3,"labels":{"a":"b"}},
		"spec":{"parentResource":{"apiVersion":"ctl.example/v1","resource":"webs"},"generateSelector":true,
			"childResources":[{"apiVersion":"v1","resource":"pods","updateStrategy":{"method":"InPlace","statusChecks":{}}},{"apiVersion":"v1","resource":"namespaces"}],
			"hooks":{"sync":{"webhook":{"url":"http://hooks.example"}}}},
		"status":{}}`
	if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, got)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return content
}

func TestRelatedTypesAreResolvedForAServiceAccount(t *testing.T) {
	const listed = `relatedResources: [{apiVersion: v1, resource: namespaces}, {apiVersion: ctl.example/v1, resource: unknown}]`
	spec, err := resolveComposite(t, `{`+parentWebs+`, `+syncHook+`, `+listed+`, serviceAccount: {namespace: shop, name: websites}}`)
	if err != nil {
		t.Fatal(err)
	}
	// A type that the cluster does not serve needs no right.
	if diff := cmp.Diff([]object.Type{namespaces}, spec.Related); diff != "" {
		t.Errorf("related types (-want +got):\n%s", diff)
	}
	without, err := resolveComposite(t, `{`+parentWebs+`, `+syncHook+`, `+listed+`}`)
	if err != nil || len(without.Related) > 0 {
		t.Errorf("without an account, the related types are %v, the error is %v", without.Related, err)
	}
}
