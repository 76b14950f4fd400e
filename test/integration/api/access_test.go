// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestTheAuthorOfAControllerWithAServiceAccountMayImpersonateIt(t *testing.T) {
	user, namespace := author(t), env.Namespace(t)
	name := harness.Name("test")
	controller := func(account string) string {
		return manifest(name, fmt.Sprintf("  serviceAccount: {namespace: %s, name: %s}", namespace, account))
	}
	refusal := func(text string, args ...string) error {
		out, err := kubectlAs(t.Context(), user, text, args...)
		if err == nil || !strings.Contains(out, "may act only as a service account that its author may impersonate") ||
			!strings.Contains(out, fmt.Sprintf("missing permissions in a Role of namespace %q",
				namespace)) || strings.Contains(out, "pods") {
			return fmt.Errorf("kubectl says %w: %s", err, out)
		}
		return nil
	}
	env.Eventually(t, func(context.Context) error { return refusal(controller("websites"), "create", "-f", "-") })

	grantIn(t, namespace, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"websites"}, Verbs: []string{"impersonate"},
	})
	accepted(t, user, controller("websites"), "apply", "--server-side", "-f", "-")
	if err := refusal(controller("other"), "apply", "--server-side", "-f", "-"); err != nil {
		t.Error(err)
	}
	// Without the account, the controller would act as the server.
	out, err := kubectlAs(t.Context(), user, manifest(name), "apply", "--server-side", "-f", "-")
	if err == nil || !strings.Contains(out, "lacks permissions that the controller uses") {
		t.Errorf("when the account is taken away, kubectl says %v: %s", err, out)
	}
}

func TestAControllerOfOneNamespaceNeedsRightsThere(t *testing.T) {
	user, namespace := author(t), env.Namespace(t)
	grantIn(t, namespace, user, rightsToRun()...)
	accepted(t, user, manifest(harness.Name("test"), fmt.Sprintf("  namespaces: [%s]", namespace)), "create", "-f", "-")
	answer := refused(t, user, manifest(harness.Name("test"), fmt.Sprintf("  namespaces: [%s, other]", namespace)))
	contains(t, answer, `missing permissions in a Role of namespace "other"`)
	if strings.Contains(answer, "ClusterRole") || strings.Contains(answer, fmt.Sprintf("%q", namespace)) {
		t.Errorf("more than the rights in one namespace is said to be missing:\n%s", answer)
	}
}

func TestWhatACustomizeHookAsksForIsDeclared(t *testing.T) {
	user := author(t)
	grant(t, user, append(rightsToRun(), everything("nodes"))...)
	const hook = "    customize: {webhook: {url: http://127.0.0.1:1/customize}}\n"
	answer := refused(t, user, manifest(harness.Name("test"), hook))
	contains(t, answer, "Declare the types that it asks for in spec.relatedResources")
	contains(t, answer, `resources: ["*"]`)

	accepted(t, user, manifest(harness.Name("test"), hook+"  relatedResources: [{apiVersion: v1, resource: nodes}]"), "create", "-f", "-")
	answer = refused(t, user, manifest(harness.Name("test"), hook+"  relatedResources: [{apiVersion: v1, resource: secrets}]"))
	contains(t, answer, `resources: ["secrets"]`)

	grant(t, user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	name := harness.Name("test")
	accepted(t, user, manifest(name, hook), "create", "-f", "-")
	out, err := kubectlAs(t.Context(), user, "", "label", "cc", name, "a=b")
	if err != nil || !strings.Contains(out, "may ask for objects of any type") {
		t.Errorf("a change of the metadata says %v: %s", err, out)
	}
}

// The cluster decides by the writer whether such objects may be written, and here that is the server.
func TestWhoMayWriteTypesThatConferRightsNeedsTheseRights(t *testing.T) {
	user := author(t)
	resources := []string{"rolebindings", "clusterrolebindings", "roles", "clusterroles", "certificatesigningrequests", "clustertrustbundles", "validatingadmissionpolicies"}
	var rules []rbacv1.PolicyRule
	for _, resource := range resources {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{"*"}, Resources: []string{resource, resource + "/status"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	grant(t, user, append(rightsToRun(), rules...)...)
	children := func(group, resource string) string {
		return strings.NewReplacer("apiVersion: v1\n", "apiVersion: "+group+"\n", "resource: pods", "resource: "+resource).Replace(manifest(harness.Name("test")))
	}
	for resource, test := range map[string]struct{ group, verb string }{
		"rolebindings":                {"rbac.authorization.k8s.io/v1", `verbs: ["bind"]`},
		"clusterrolebindings":         {"rbac.authorization.k8s.io/v1", `verbs: ["bind"]`},
		"roles":                       {"rbac.authorization.k8s.io/v1", `verbs: ["escalate"]`},
		"clusterroles":                {"rbac.authorization.k8s.io/v1", `verbs: ["escalate"]`},
		"certificatesigningrequests":  {"certificates.k8s.io/v1", `verbs: ["approve"]`},
		"clustertrustbundles":         {"certificates.k8s.io/v1beta1", `verbs: ["attest"]`},
		"validatingadmissionpolicies": {"admissionregistration.k8s.io/v1", `resources: ["*"]`},
	} {
		answer := refused(t, user, children(test.group, resource))
		contains(t, answer, test.verb)
		if strings.Contains(answer, `"delete"`) {
			t.Errorf("with %s, more is said to be missing:\n%s", resource, answer)
		}
	}
	requests := strings.NewReplacer("nothing.example.com/v1", "certificates.k8s.io/v1", "nothings", "certificatesigningrequests").Replace(manifest(harness.Name("test")))
	contains(t, refused(t, user, requests), `verbs: ["sign"]`)
}
