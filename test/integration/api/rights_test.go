// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// author creates a user with all rights on controllers except the verb escalate, and no other
// rights.
func author(t *testing.T) string {
	t.Helper()
	user := harness.Name("jane")
	grant(t, user, rbacv1.PolicyRule{
		APIGroups: []string{"metacontroller.k8s.io"}, Resources: []string{"compositecontrollers", "decoratorcontrollers"},
		Verbs: []string{"create", "get", "list", "watch", "update", "patch", "delete"},
	})
	return user
}

// grant gives a user rights in the whole cluster and waits until they are in effect.
func grant(t *testing.T, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: rules}
	role, err := env.Kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := env.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUntilKnown(t, "", user, rules)
}

// grantIn gives a user rights in one namespace and waits until they are in effect.
func grantIn(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace}, Rules: rules}
	role, err := env.Kube.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := env.Kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUntilKnown(t, namespace, user, rules)
}

// waitUntilKnown waits until a user has all rights of one role. The host learns of a role and its
// binding with some delay.
func waitUntilKnown(t *testing.T, namespace, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	last := rules[len(rules)-1]
	resource, subresource, _ := strings.Cut(last.Resources[0], "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: last.Verbs[0], Group: last.APIGroups[0], Resource: resource, Subresource: subresource,
		},
	}}
	if len(last.ResourceNames) > 0 {
		review.Spec.ResourceAttributes.Name = last.ResourceNames[0]
	}
	env.Eventually(t, func(ctx context.Context) error {
		answer, err := env.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("the cluster does not know yet that %s may %v", user, last)
		}
		return err
	})
}

func everything(resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"*"}}
}

// rightsToRun are the rights that the controller of manifest uses.
func rightsToRun() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"nothing.example.com"}, Resources: []string{"nothings"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"nothing.example.com"}, Resources: []string{"nothings/status"}, Verbs: []string{"update"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
	}
}

// kubectlAs runs kubectl as another user, with a manifest as its input, and returns its output.
func kubectlAs(ctx context.Context, user, manifest string, args ...string) (string, error) {
	cmd := env.Host.KubectlCommand(ctx, append(args, "--as="+user)...)
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// refused waits until a user may not create a controller for lack of rights, and returns the
// answer.
func refused(t *testing.T, user, manifest string) (answer string) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		out, err := kubectlAs(ctx, user, manifest, "create", "-f", "-")
		if err == nil || !strings.Contains(out, "lacks permissions that the controller uses") {
			return fmt.Errorf("kubectl says %v: %s", err, out)
		}
		answer = out
		return nil
	})
	return answer
}

// accepted waits until a user may apply a controller.
func accepted(t *testing.T, user, manifest string, args ...string) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		if out, err := kubectlAs(ctx, user, manifest, args...); err != nil {
			return fmt.Errorf("kubectl says %w: %s", err, out)
		}
		return nil
	})
}

// withCredentials are lines for manifest that refer to two Secrets.
func withCredentials(namespace string) string {
	return fmt.Sprintf(`  endpointConfigs:
    - host: 127.0.0.1:1
      clientTLS: {secretRef: {namespace: %[1]s, name: certificate}}
      caBundle: {configMapRef: {namespace: %[1]s, name: authority}}
    - host: 127.0.0.1:2
      authorization: {secretRef: {namespace: %[1]s, name: token, key: token}}`, namespace)
}

func TestRightsInOneNamespaceAreNotEnoughForAController(t *testing.T) {
	user, namespace := author(t), env.Namespace(t)
	grantIn(t, namespace, user, everything("*"))
	answer := refused(t, user, manifest(harness.Name("test"), withCredentials(namespace)))
	for _, want := range []string{"Forbidden", `resources: ["nothings"]`, `resources: ["nothings/status"]`, `resources: ["pods"]`} {
		contains(t, answer, want)
	}
	if strings.Contains(answer, "secrets") || strings.Contains(answer, "configmaps") {
		t.Errorf("what the user may read is said to be missing:\n%s", answer)
	}
	const webhook = "webhook:\n        url: http://127.0.0.1:1/sync"
	inline := strings.Replace(manifest(harness.Name("test")), webhook, "inline: {children: []}", 1)
	contains(t, refused(t, user, inline), `resources: ["pods"]`)
}

func TestWhatIsMissingCanBePasted(t *testing.T) {
	user, namespace := author(t), env.Namespace(t)
	controller := manifest(harness.Name("test"), withCredentials(namespace))
	answer := refused(t, user, controller)
	pasted := 0
	for part := range strings.SplitSeq(answer, "# missing permissions ") {
		where, text, found := strings.Cut(part, "\n")
		if !found || !strings.HasPrefix(text, "rules:") {
			continue
		}
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		pasted += len(role.Rules)
		if strings.HasPrefix(where, "in a ClusterRole") {
			grant(t, user, role.Rules...)
		} else {
			grantIn(t, namespace, user, role.Rules...)
		}
	}
	if pasted != 5 {
		t.Errorf("%d rules are missing, want parents, their status, children, Secrets and the ConfigMap:\n%s", pasted, answer)
	}
	accepted(t, user, controller, "create", "-f", "-")
}

func TestAServiceAccountThatMayEscalate(t *testing.T) {
	namespace := env.Namespace(t)
	env.Kubectl(t, "create", "serviceaccount", "installer", "-n", namespace)
	user := "system:serviceaccount:" + namespace + ":installer"
	grant(t, user, rbacv1.PolicyRule{APIGroups: []string{"metacontroller.k8s.io"}, Resources: []string{"compositecontrollers"}, Verbs: []string{"create", "escalate"}})
	token, err := env.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "installer", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(env.Config)
	config.BearerToken = token.Status.Token
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, func(ctx context.Context) error {
		controller := get(t, created(t))
		controller.ObjectMeta = metav1.ObjectMeta{Name: harness.Name("test")}
		_, err := client.MetacontrollerV1alpha1().CompositeControllers().Create(ctx, controller, metav1.CreateOptions{})
		return err
	})
}

func TestTheRightToEscalateCanBeAskedFor(t *testing.T) {
	user := author(t)
	for _, resource := range []string{"cc", "compositecontrollers", "dec", "decoratorcontrollers.metacontroller.k8s.io"} {
		out, err := kubectlAs(t.Context(), user, "", "auth", "can-i", "escalate", resource)
		if err == nil || !strings.HasSuffix(strings.TrimSpace(out), "no") {
			t.Errorf("may an author escalate %s? %v: %s", resource, err, out)
		}
	}
	grant(t, user, rbacv1.PolicyRule{APIGroups: []string{"metacontroller.k8s.io"}, Resources: []string{"compositecontrollers"}, Verbs: []string{"escalate"}})
	env.Eventually(t, func(ctx context.Context) error {
		out, err := kubectlAs(ctx, user, "", "auth", "can-i", "escalate", "cc")
		if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "yes") {
			return fmt.Errorf("after it was granted kubectl says %v: %s", err, out)
		}
		return nil
	})
	// The verb works as the host's own verb for Roles does: it is for one kind.
	accepted(t, user, manifest(harness.Name("test")), "create", "-f", "-")
	refused(t, user, strings.Replace(decoratorManifest, "NAME", harness.Name("test"), 1))
}

const decoratorManifest = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata:
  name: NAME
spec:
  resources:
    - {apiVersion: v1, resource: pods}
  attachments:
    - {apiVersion: v1, resource: configmaps}
  hooks:
    sync:
      webhook:
        url: http://127.0.0.1:1/sync
`

func TestEveryChangeOfTheSpecNeedsAllRights(t *testing.T) {
	name, user := created(t), author(t)
	patch := func(ctx context.Context, patch string, flags ...string) error {
		out, err := kubectlAs(ctx, user, "", append([]string{"patch", "cc", name, "--type=merge", "-p", patch}, flags...)...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	env.Eventually(t, func(ctx context.Context) error { return patch(ctx, `{"metadata":{"labels":{"a":"b"}}}`) })
	for what, text := range map[string]string{
		"metadata": `{"metadata":{"annotations":{"a":"b"}}}`,
		"nothing":  `{}`,
	} {
		if err := patch(t.Context(), text); err != nil {
			t.Errorf("an update of %s says %v", what, err)
		}
	}
	changes := map[string]string{
		"another period":     `{"spec":{"resyncPeriodSeconds":7}}`,
		"a type of children": `{"spec":{"childResources":[{"apiVersion":"v1","resource":"secrets"}]}}`,
	}
	for what, text := range changes {
		for _, flags := range [][]string{nil, {"--dry-run=server"}} {
			if err := patch(t.Context(), text, flags...); err == nil || !strings.Contains(err.Error(), "lacks permissions "+
				"that the controller uses") {
				t.Errorf("a spec with %s says %v", what, err)
			}
		}
	}
	if generation := get(t, name).Generation; generation != 1 {
		t.Errorf("the generation is %d, want 1 since no update changed the spec", generation)
	}

	// A user who may write the status needs no other rights, and cannot change anything else.
	grant(t, user, rbacv1.PolicyRule{APIGroups: []string{"metacontroller.k8s.io"}, Resources: []string{"compositecontrollers/status"}, Verbs: []string{"get", "patch"}})
	env.Eventually(t, func(ctx context.Context) error {
		return patch(ctx, `{"status":{"observedGeneration":1},"spec":{"childResources":[{"apiVersion":"v1","resource":"secrets"}]}}`, "--subresource=status")
	})
	if children := get(t, name).Spec.ChildResources; len(children) != 1 || children[0].Resource != "pods" {
		t.Errorf("a write of the status has changed the types of children to %v", children)
	}

	// Who has all rights of the new spec may change it.
	grant(t, user, rightsToRun()...)
	env.Eventually(t, func(ctx context.Context) error { return patch(ctx, changes["another period"]) })
}

func TestAClusterAdministratorCostsOneReview(t *testing.T) {
	user := harness.Name("administrator")
	env.Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole=cluster-admin", "--user="+user)
	config, err := env.Host.RESTConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	controllers := client.MetacontrollerV1alpha1().CompositeControllers()
	controller := get(t, created(t))
	create := func(ctx context.Context) error {
		controller.ObjectMeta = metav1.ObjectMeta{Name: harness.Name("test")}
		_, err := controllers.Create(ctx, controller, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	env.Eventually(t, create) // and now the host knows the user
	position := env.AuditEnd(t)
	if err := create(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := env.AuditEvents(t, position, hostcluster.Request{
		Group: "authorization.k8s.io", Resource: "subjectaccessreviews",
	})
	var reviewed []authorizationv1.ResourceAttributes
	for _, event := range found {
		var review authorizationv1.SubjectAccessReview
		if err := json.Unmarshal(event.RequestObject.Raw, &review); err != nil {
			t.Fatal(err)
		}
		// Rights of other users are reviewed too. The right of this user to create is reviewed
		// unless that was done recently.
		if asked := review.Spec.ResourceAttributes; review.Spec.User == user && asked != nil && asked.Verb != "create" {
			reviewed = append(reviewed, *asked)
		}
	}
	if len(reviewed) != 1 {
		t.Errorf("there were the reviews %+v, want 1", reviewed)
	}
}

// The policy is in the documentation. It refuses what the reviews cannot cover.
func TestCustomizeHooksCanBeRefused(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(document), "```yaml\napiVersion: admissionregistration.k8s.io/v1\n")
	policy, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the policy is not in the documentation any more")
	}
	env.Apply(t, "apiVersion: admissionregistration.k8s.io/v1\n"+policy)

	user := author(t)
	grant(t, user, rightsToRun()...)
	customized := manifest(harness.Name("test"), "    customize: {webhook: {url: http://127.0.0.1:1/customize}}")
	env.Eventually(t, func(ctx context.Context) error {
		out, err := kubectlAs(ctx, user, customized, "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(out, "customize hooks are for cluster administrators") {
			return fmt.Errorf("kubectl says %v: %s", err, out)
		}
		return nil
	})
	accepted(t, user, manifest(harness.Name("test")), "create", "-f", "-")
	env.Apply(t, customized)
}

func TestRightsThatAreGivenHoldAtOnce(t *testing.T) {
	user, name := author(t), harness.Name("test")
	refused(t, user, manifest(name))
	grant(t, user, rightsToRun()...)
	config, err := env.Host.RESTConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	// A controller is accepted as soon as the host grants the rights: a refusal is not cached.
	env.Eventually(t, func(ctx context.Context) error {
		_, err := kubectlAs(ctx, user, "", "auth", "can-i", "delete", "pods", "--all-namespaces")
		return err
	})
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	controller := get(t, created(t))
	controller.ObjectMeta = metav1.ObjectMeta{Name: name}
	if _, err := client.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(), controller, metav1.CreateOptions{}); err != nil {
		t.Errorf("a user who has been given all rights is told %v", err)
	}
	patch := []byte(`{"spec":{"childResources":[{"apiVersion":"v1","resource":"secrets"}]}}`)
	_, err = client.MetacontrollerV1alpha1().CompositeControllers().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a patch that adds rights says %v", err)
	}
}
