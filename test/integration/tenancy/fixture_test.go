// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

type (
	object    = harness.Object
	composite = hook.CompositeRequest
	decorator = hook.DecoratorRequest
	account   = v1alpha1.ServiceAccountReference
)

// fixture is the fixture of a controller that acts as a service account.
type fixture struct{ harness.Fixture }

// prepare returns a fixture without a controller.
func prepare(t *testing.T, handler hook.Handler) *fixture {
	t.Helper()
	return &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, handler))}
}

// in returns the fixture with another namespace for parents and children.
func (f *fixture) in(namespace string) *fixture {
	inner := *f
	inner.Namespace = namespace
	return &inner
}

// newAccount creates a service account that may read the types of the fixture everywhere, and write
// nothing.
func (f *fixture) newAccount() account {
	f.Helper()
	name := harness.Name("account")
	f.apply(name, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
- {apiGroups: [GROUP], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{kind: ServiceAccount, name: NAME, namespace: NAMESPACE}]
`)
	return account{Namespace: f.Namespace, Name: name}
}

// mayWriteParents lets an account write parents in the fixture's namespace.
func (f *fixture) mayWriteParents(who account) {
	f.Helper()
	f.grant(who, "parents", `{apiGroups: [GROUP], resources: ["*"], verbs: [update, patch]}`)
}

// mayWriteChildren lets an account write children in the fixture's namespace.
func (f *fixture) mayWriteChildren(who account) {
	f.Helper()
	f.grant(who, "children", `{apiGroups: [""], resources: [configmaps], verbs: [create, update, patch, delete]}`)
}

// grant gives an account the rights of a rule in the fixture's namespace.
func (f *fixture) grant(who account, what, rule string) {
	f.Helper()
	f.apply(who.Name+"-"+what, strings.NewReplacer("ACCOUNT_NAMESPACE", who.Namespace, "ACCOUNT", who.Name, "RULE", rule).Replace(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NAME, namespace: NAMESPACE}
rules: [RULE]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAME, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}
subjects: [{kind: ServiceAccount, name: ACCOUNT, namespace: ACCOUNT_NAMESPACE}]
`))
}

func (f *fixture) apply(name, manifest string) {
	f.Helper()
	env.Apply(f, strings.NewReplacer("NAMESPACE", f.Namespace, "NAME", name, "GROUP", f.Parents.Group).Replace(manifest))
}

// user is the user that an account is for the cluster.
func user(of account) string { return "system:serviceaccount:" + of.Namespace + ":" + of.Name }

// valueOf is spec.value of a parent or target.
func valueOf(parent *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(parent.Object, "spec", "value")
	return value
}

// configMapOf is a ConfigMap with the name and the value of a parent; none without a value.
func configMapOf(parent *unstructured.Unstructured) []object {
	if valueOf(parent) == "" {
		return []object{}
	}
	return []object{hook.ConfigMap(parent.GetName(), object{"value": valueOf(parent)})}
}

// withFinalize adds a finalize hook beside the sync hook.
func withFinalize(spec *v1alpha1.CompositeControllerSpec) {
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
}

// limited has a controller act as an account in some namespaces.
func limited(who account, namespaces ...string) harness.CompositeChange {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ServiceAccount, spec.Namespaces = &who, namespaces
	}
}
