// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

func TestAChildTypeThatNamesNoEngineHasThatOfTheProcess(t *testing.T) {
	pod, plain := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "ctl.example", Kind: "Plain"}
	spec := &Spec{
		Children: []object.Type{pods, {GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example"}, Kind: "Plain"}, {Kind: "Namespace"}},
		Strategies: plan.Strategies{
			pod:   {Method: plan.InPlace, Engine: plan.DynamicApply},
			plain: {Method: plan.Recreate},
		},
	}
	want := plan.Strategies{
		pod:                 {Method: plan.InPlace, Engine: plan.DynamicApply},
		plain:               {Method: plan.Recreate, Engine: plan.ServerSideApply},
		{Kind: "Namespace"}: {Engine: plan.ServerSideApply},
	}
	if diff := cmp.Diff(want, spec.strategiesWithEngine(plan.ServerSideApply)); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
}

func TestASpecHasTheSchemasOfParentsAndChildren(t *testing.T) {
	spec := &Spec{Targets: []Target{{Type: webs}, {Type: pods}}, Children: []object.Type{pods}}
	if got := spec.types(); !slices.Equal(got, []object.Type{pods, webs}) {
		t.Errorf("the types are %v", got)
	}
	spec.Schemas = map[object.Type]*openapi.Type{webs: {}}
	if !spec.LacksSchemas() {
		t.Error("the schema of a child is missing")
	}
	spec.Schemas = map[object.Type]*openapi.Type{pods: {}}
	if spec.LacksSchemas() {
		t.Error("no schema of a child is missing, and types of parents may have none for ever")
	}
}

func TestAServiceAccountMustBeAllowedToReadWhatTheSpecNames(t *testing.T) {
	webhook := at("https://hooks.example/sync")
	webhook.BasicAuth = &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "password"}}
	spec := specOf(webhook, pods)
	spec.Kind.ChildrenField = "children"
	spec.EndpointConfigs = []v1alpha1.EndpointConfig{
		{Host: "hooks.example", CABundle: &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "authority"}}},
		{Host: "other.example", CABundle: &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "never-read"}}},
	}
	customize := at("https://hooks.example/customize")
	spec.Customize = &v1alpha1.Hook{Webhook: &customize}
	spec.Related = []object.Type{{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Kind: "Service", Namespaced: true}}
	spec.Namespaces = object.NewNamespaces([]string{"shop", "test"})
	const want = `# missing permissions in a Role of namespace "keys":
rules:
- apiGroups: [""] # for spec.endpointConfigs[0].caBundle.configMapRef
  resources: ["configmaps"]
  resourceNames: ["authority"]
  verbs: ["get"]
- apiGroups: [""] # for spec.hooks.sync.webhook.basicAuth.secretRef
  resources: ["secrets"]
  resourceNames: ["password"]
  verbs: ["get"]
# missing permissions in a Role of namespace "shop":
rules:
- apiGroups: ["ctl.example"] # for its parents
  resources: ["webs"]
  verbs: ["list", "watch"]
- apiGroups: [""] # for its children, spec.relatedResources
  resources: ["pods", "services"]
  verbs: ["list", "watch"]
# missing permissions in a Role of namespace "test":
rules:
- apiGroups: ["ctl.example"] # for its parents
  resources: ["webs"]
  verbs: ["list", "watch"]
- apiGroups: [""] # for its children, spec.relatedResources
  resources: ["pods", "services"]
  verbs: ["list", "watch"]
`
	if diff := cmp.Diff(want, rights.Rules(spec.Reads())); diff != "" {
		t.Errorf("required rights (-want +got):\n%s", diff)
	}
}
