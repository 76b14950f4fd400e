// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

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
	const want = `# missing in a Role of namespace "keys":
rules:
- apiGroups: [""] # for spec.endpointConfigs[0].caBundle.configMapRef
  resources: ["configmaps"]
  resourceNames: ["authority"]
  verbs: ["get"]
- apiGroups: [""] # for spec.hooks.sync.webhook.basicAuth.secretRef
  resources: ["secrets"]
  resourceNames: ["password"]
  verbs: ["get"]
# missing in a Role of namespace "shop":
rules:
- apiGroups: ["ctl.example"] # for its parents
  resources: ["webs"]
  verbs: ["list", "watch"]
- apiGroups: [""] # for its children, spec.relatedResources
  resources: ["pods", "services"]
  verbs: ["list", "watch"]
# missing in a Role of namespace "test":
rules:
- apiGroups: ["ctl.example"] # for its parents
  resources: ["webs"]
  verbs: ["list", "watch"]
- apiGroups: [""] # for its children, spec.relatedResources
  resources: ["pods", "services"]
  verbs: ["list", "watch"]
`
	if diff := cmp.Diff(want, rights.Rules(spec.Rights())); diff != "" {
		t.Errorf("required rights (-want +got):\n%s", diff)
	}
}

// The server keeps the ControllerRevisions of a parent for all its controllers. So a controller that could only
// read the parents could end the rollout of another one.
func TestAnAccountWhoseControllerKeepsRevisionsMustBeAllowedToUpdateTheParents(t *testing.T) {
	spec := specOf(at("https://hooks.example/sync"), pods)
	spec.Rollout = &rollout.Rules{}
	spec.Namespaces = object.NewNamespaces([]string{"shop"})
	for hasStatus, want := range map[bool]string{
		true:  "resources: [\"webs/status\"]\n  verbs: [\"update\"]",
		false: "resources: [\"webs\"]\n  verbs: [\"list\", \"watch\", \"update\"]",
	} {
		spec.Targets[0].Type.StatusSubresource = hasStatus
		if got := rights.Rules(spec.Rights()); !strings.Contains(got, want) {
			t.Errorf("with a status subresource (%t) the rights should have %s, but are\n%s", hasStatus, want, got)
		}
	}
}
