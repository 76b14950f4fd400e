// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

const forgedRevision = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata:
  name: forged
  annotations: {metacontroller.k8s.io/field-paths: '["metadata.namespace"]'}
parentPatch: {metadata: {namespace: kube-system}}
children: []
`

func revisionRule(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"metacontroller.k8s.io"}, Resources: []string{"controllerrevisions", "controllerrevisions/status"}, Verbs: verbs}
}

// test/integration/tenancy tries more ways.
func TestOnlyWhoMayRestoreWritesRevisions(t *testing.T) {
	user, namespace := harness.Name("jane"), env.Namespace(t)
	grantIn(t, namespace, user, revisionRule("get", "list", "create", "update", "patch", "delete", "deletecollection"))
	const refusal = "hooks get the content of ControllerRevisions, so only the server writes them"
	as := func(manifest string, args ...string) (string, error) {
		return kubectlAs(t.Context(), user, manifest, append(args, "--namespace="+namespace)...)
	}
	refused := func(manifest string, args ...string) {
		t.Helper()
		if out, err := as(manifest, args...); err == nil || !strings.Contains(out, refusal) {
			t.Errorf("kubectl %s says %v: %s", strings.Join(args, " "), err, out)
		}
	}
	taken := func(manifest string, args ...string) {
		t.Helper()
		if out, err := as(manifest, args...); err != nil {
			t.Errorf("kubectl %s says %v: %s", strings.Join(args, " "), err, out)
		}
	}
	refused(forgedRevision, "create", "-f", "-")

	env.Kubectl(t, "create", "configmap", "owner", "--namespace="+namespace)
	revision := createOwnedRevision(t, namespace)
	const resource = "controllerrevisions.metacontroller.k8s.io"
	refused("", "annotate", resource, revision, "--overwrite", `metacontroller.k8s.io/field-paths=["metadata.namespace"]`)
	taken("", "patch", resource, revision, "--subresource=status", "--type=merge", `--patch={"parentPatch":{"metadata":{}}}`) // changes nothing
	taken("", "patch", resource, revision, "--type=json", `--patch=[{"op":"remove","path":"/metadata/ownerReferences"}]`)

	restorer := harness.Name("velero")
	grantIn(t, namespace, restorer, revisionRule("get", "create", "patch"), revisionRule("restore"))
	out, err := kubectlAs(t.Context(), restorer, forgedRevision, "apply", "--server-side", "--force-conflicts", "-f", "-", "--namespace="+namespace)
	if err != nil {
		t.Errorf("who may restore gets %v: %s", err, out)
	}
}

// createOwnedRevision creates a revision of the ConfigMap "owner", whose deletion it may block.
func createOwnedRevision(t *testing.T, namespace string) (name string) {
	t.Helper()
	owner, err := env.Kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), "owner", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	env.Apply(t, fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata:
  name: owned
  namespace: %s
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, controller: true, blockOwnerDeletion: true}]
parentPatch: {spec: {}}
children: []
`, namespace, owner.UID))
	return "owned"
}

// The garbage collector may write everything in the cluster, and may restore nothing. These are its
// patches when an owner is deleted and its objects stay, and when owners wait for one another.
func TestTheGarbageCollectorMayTakeOwnersAwayFromRevisions(t *testing.T) {
	namespace := env.Namespace(t)
	env.Kubectl(t, "create", "configmap", "owner", "--namespace="+namespace)
	name := createOwnedRevision(t, namespace)
	revision, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{`"blockOwnerDeletion":false,`, `"$patch":"delete",`} {
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"ownerReferences":[{%s"uid":%q}]}}`, revision.UID, owner, revision.OwnerReferences[0].UID)
		out, err := kubectlAs(t.Context(), "system:serviceaccount:kube-system:generic-garbage-collector", "",
			"patch", "controllerrevisions.metacontroller.k8s.io", name, "--namespace="+namespace, "--type=strategic", "--patch="+patch)
		if err != nil {
			t.Errorf("the patch %s gives %v: %s", patch, err, out)
		}
	}
}

func TestEditorsAndViewersOfANamespaceHaveNoRevisions(t *testing.T) {
	namespace := env.Namespace(t)
	for _, role := range []string{"view", "edit", "admin"} {
		user := harness.Name(role)
		env.Kubectl(t, "create", "rolebinding", user, "--namespace="+namespace, "--clusterrole="+role, "--user="+user)
		may := func(ctx context.Context, verb, group, resource string) (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource,
			}}}
			answer, err := env.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		}
		env.Eventually(t, func(ctx context.Context) error {
			known, err := may(ctx, "get", "metacontroller.k8s.io", "compositecontrollers")
			if err == nil && !known {
				err = errors.New("the role binding is not known yet")
			}
			return err
		})
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "restore"} {
			if allowed, err := may(t.Context(), verb, "metacontroller.k8s.io", "controllerrevisions"); err != nil || allowed {
				t.Errorf("with the role %s one may %s: %v, %v", role, verb, allowed, err)
			}
		}
	}
}
