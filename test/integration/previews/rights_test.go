// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// right is a right that a review needs.
type right struct{ verb, group, resource string }

func (r right) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
}

// Who lacks any of the rights that a review needs is refused, and the refusal names the right. Who has
// all of them is answered.
func TestWhoMayReview(t *testing.T) {
	t.Parallel()
	f := related(t, "key", "other")
	const own = "metacontroller.k8s.io"
	toReview := []right{
		{"create", own, "syncreviews"}, {"get", own, "compositecontrollers"}, {"get", f.Parents.Group, f.Parents.Resource}, {"get", "", "secrets"},
	}
	toRun := []right{
		{"list", f.Parents.Group, f.Parents.Resource}, {"watch", f.Parents.Group, f.Parents.Resource}, {"update", f.Parents.Group, f.Parents.Resource + "/status"},
		{"list", "", "secrets"}, {"watch", "", "secrets"}, {"create", "", "secrets"}, {"update", "", "secrets"}, {"patch", "", "secrets"}, {"delete", "", "secrets"},
	}
	candidate := f.of("a")
	candidate.Candidate = f.candidate()
	candidate.Candidate.Raw = []byte(strings.Replace(string(candidate.Candidate.Raw), `"hooks"`, `"relatedResources":[{"apiVersion":"v1","resource":"secrets"}],"hooks"`, 1))
	for name, test := range map[string]struct {
		spec   v1alpha1.SyncReviewSpec
		needed []right
	}{
		"of a parent": {f.of("a"), toReview},
		"of parents": {
			v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parents: &v1alpha1.SyncReviewParents{}},
			append(slices.Clone(toReview), right{"list", f.Parents.Group, f.Parents.Resource}),
		},
		"of a parent that does not exist": {
			v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Object: f.thing("b", nil)},
			append(slices.Clone(toReview), right{"create", f.Parents.Group, f.Parents.Resource}, right{"list", "", "secrets"}),
		},
		"of a parent that is to be changed": {
			v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Object: f.thing("a", nil)},
			append(slices.Clone(toReview), right{"update", f.Parents.Group, f.Parents.Resource}, right{"list", "", "secrets"}),
		},
		"of a spec that a controller might be": {candidate, append(slices.Clone(toReview), right{"update", own, "compositecontrollers"}, toRun[0])},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others []right
			if test.spec.Candidate != nil {
				others = toRun[1:]
			}
			expectNeeded(t, test.spec, test.needed, others...)
		})
	}
}

// Who decides what is sent, to a hook or in a dry run, needs more rights than who looks on.
func TestWhoMayDecideWhatIsSent(t *testing.T) {
	t.Parallel()
	f := prepare(t, before(t), after(t))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a-goes", harness.Exists)
	const own = "metacontroller.k8s.io"
	toReview := []right{
		{"create", own, "syncreviews"}, {"get", own, "compositecontrollers"}, {"get", f.Parents.Group, f.Parents.Resource}, {"get", "", "configmaps"},
	}
	request, tried := f.of("a"), f.of("a")
	request.Request = raw(t, object{"parent": object{"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": "a", "namespace": f.Namespace}}})
	tried.Until = v1alpha1.SyncReviewUntilDryRun
	tried.Response = raw(t, object{"status": object{"given": true}, "children": []object{hook.ConfigMap("a-given", nil), hook.ConfigMap("a-changes", object{"a": "3"})}})
	for name, test := range map[string]struct {
		spec   v1alpha1.SyncReviewSpec
		needed []right
	}{
		"a request of one's own": {request, append(slices.Clone(toReview), right{"update", own, "compositecontrollers"})},
		"a dry run of a given answer": {tried, slices.Concat(toReview, []right{
			{"create", "", "configmaps"}, {"update", "", "configmaps"}, {"delete", "", "configmaps"}, {"update", f.Parents.Group, f.Parents.Resource + "/status"},
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectNeeded(t, test.spec, test.needed)
		})
	}
}

// expectNeeded checks that each of some rights is needed for a review, and that all of them are enough, with others.
func expectNeeded(t *testing.T, spec v1alpha1.SyncReviewSpec, needed []right, others ...right) {
	t.Helper()
	stranger := harness.Name("user")
	if err := reviewAs(t, stranger, spec); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger is answered with %v", err)
	}
	user := harness.Name("user")
	grant(t, user, slices.Concat(others, needed)...)
	env.Eventually(t, func(context.Context) error { return reviewAs(t, user, spec) })
	for _, missing := range needed {
		user := harness.Name("user")
		rest := slices.DeleteFunc(slices.Clone(needed), func(other right) bool { return other == missing })
		grant(t, user, slices.Concat(others, rest)...)
		env.Eventually(t, func(context.Context) error {
			switch err := reviewAs(t, user, spec); {
			case !apierrors.IsForbidden(err):
				return fmt.Errorf("without %v, the answer is %w", missing, err)
			case !strings.Contains(err.Error(), missing.resource) || !strings.Contains(err.Error(), missing.verb):
				return fmt.Errorf("the right %v is not named: %w", missing, err)
			}
			return nil
		})
	}
}

// Rights in one namespace are enough for the parents there, and not for others.
func TestRightsInANamespaceAreEnoughForItsParents(t *testing.T) {
	t.Parallel()
	f := prepare(t, before(t), after(t))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a-goes", harness.Exists)
	elsewhere := f.Fixture
	elsewhere.Namespace = env.Namespace(t)
	elsewhere.CreateParent("b", object{})
	elsewhere.WaitForConfigMap("b-goes", harness.Exists)
	user := harness.Name("user")
	grant(t, user, right{"create", "metacontroller.k8s.io", "syncreviews"}, right{"get", "metacontroller.k8s.io", "compositecontrollers"})
	grantIn(t, f.Namespace, user, right{"get", f.Parents.Group, f.Parents.Resource},
		right{"list", f.Parents.Group, f.Parents.Resource}, right{"get", "", "configmaps"})
	here := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parents: &v1alpha1.SyncReviewParents{Namespace: f.Namespace}}
	env.Eventually(t, func(context.Context) error { return reviewAs(t, user, here) })
	everywhere := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parents: &v1alpha1.SyncReviewParents{}}
	err := reviewAs(t, user, everywhere)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `# missing permissions in a ClusterRole`) {
		t.Errorf("the answer about all namespaces is %v", err)
	}
}

// reviewAs returns the error of a review of a user.
func reviewAs(t *testing.T, user string, spec v1alpha1.SyncReviewSpec) error {
	t.Helper()
	config := rest.CopyConfig(env.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.MetacontrollerV1alpha1().SyncReviews().Create(t.Context(), &v1alpha1.SyncReview{Spec: spec}, metav1.CreateOptions{})
	return err
}

// grant gives a user rights in the whole cluster.
func grant(t *testing.T, user string, rights ...right) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	for _, one := range rights {
		role.Rules = append(role.Rules, one.rule())
	}
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
	waitUntilGranted(t, user, "", rights[len(rights)-1])
}

// grantIn gives a user rights in a namespace.
func grantIn(t *testing.T, namespace, user string, rights ...right) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace}}
	for _, one := range rights {
		role.Rules = append(role.Rules, one.rule())
	}
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
	waitUntilGranted(t, user, namespace, rights[len(rights)-1])
}

// waitUntilGranted waits until the host knows that a user has a right.
func waitUntilGranted(t *testing.T, user, namespace string, last right) {
	t.Helper()
	resource, subresource, _ := strings.Cut(last.resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: last.verb, Group: last.group, Resource: resource, Subresource: subresource,
	}}}
	env.Eventually(t, func(ctx context.Context) error {
		answer, err := env.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("the cluster does not know yet that %s may %s %s", user, last.verb, last.resource)
		}
		return err
	})
}
