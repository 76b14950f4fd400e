// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// reader is a CompositeController with ConfigMap children that acts as a service account of its
// parents' namespace.
type reader struct {
	harness.Fixture
	account string
}

// aMinute is how long a right may take to take effect.
const aMinute = time.Minute

// prepareReader returns a reader without a controller. Its account may do everything to parents and
// children but list and watch children.
func prepareReader(t *testing.T, handler hook.Handler) *reader {
	t.Helper()
	r := &reader{Fixture: harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, handler)), account: harness.Name("reader")}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: r.account}}
	if _, err := env.Kube.CoreV1().ServiceAccounts(r.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.grant(
		rbacv1.PolicyRule{APIGroups: []string{r.Parents.Group}, Resources: []string{r.Parents.Resource, r.Parents.Resource + "/status"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch", "delete"}},
	)
	return r
}

// readsChildren is the rule that the account of prepareReader lacks.
func readsChildren() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}
}

// asAccount makes a controller act as the account.
func (r *reader) asAccount(spec *v1alpha1.CompositeControllerSpec) {
	spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: r.Namespace, Name: r.account}
}

// customizes adds a customize hook, which answers the rules in the spec of the parent.
func customizes(spec *v1alpha1.CompositeControllerSpec) {
	v2 := v1alpha1.HookVersionV2
	spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
	spec.Hooks.Customize.Version, spec.Hooks.Sync.Version = &v2, &v2
}

// mirroring answers sync requests with a ConfigMap that holds the spec.value of the parent, and
// customize requests with the rules in its spec.rules.
func mirroring(t *testing.T) hook.Handler {
	synced := hook.Answering(t, func(asked hook.CompositeRequest) map[string]any {
		value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		return harness.Object{"children": []harness.Object{hook.ConfigMap(asked.Parent.GetName(), harness.Object{"value": value})}}
	})
	customized := hook.Answering(t, func(asked hook.CompositeRequest) map[string]any {
		rules, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "rules")
		return harness.Object{"relatedResources": rules}
	})
	return func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == harness.CustomizePath {
			return customized(ctx, call)
		}
		return synced(ctx, call)
	}
}

// grant gives the account rights in the whole cluster. They are withdrawn with withdraw.
func (r *reader) grant(rules ...rbacv1.PolicyRule) (binding string) {
	r.Helper()
	raw, err := json.Marshal(rules)
	if err != nil {
		r.Fatal(err)
	}
	return r.paste("rules: "+string(raw), "")
}

// paste makes a role of rules, in a namespace if it is not empty, and binds it to the account.
func (r *reader) paste(rules, namespace string) (binding string) {
	r.Helper()
	kind, name := "ClusterRole", harness.Name("reads")
	metadata, subject := "{name: "+name+"}", fmt.Sprintf("{kind: ServiceAccount, namespace: %s, name: %s}", r.Namespace, r.account)
	if namespace != "" {
		kind, metadata = "Role", fmt.Sprintf("{name: %s, namespace: %s}", name, namespace)
	}
	env.Apply(r, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: %[2]s
%[3]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sBinding
metadata: %[2]s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[4]s}
subjects: [%[5]s]
`, kind, metadata, rules, name, subject))
	return name
}

// pasteMissing gives the account what the message of the condition Ready says that it lacks.
func (r *reader) pasteMissing() (binding string) {
	r.Helper()
	message, namespace := r.readyMessage(), ""
	heading, rules, found := strings.Cut(message, ":\nrules:\n")
	if !found {
		r.Fatalf("no rules are in the message: %s", message)
	}
	if _, in, isRole := strings.Cut(heading, `in a Role of namespace "`); isRole {
		namespace = strings.TrimSuffix(in, `"`)
	}
	return r.paste("rules:\n"+rules, namespace)
}

func (r *reader) readyMessage() (message string) {
	r.Helper()
	object, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(r.Context(), r.Controller.Name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return ""
	}
	return ready.Message
}

// withdraw takes the rights of a binding in the whole cluster from the account.
func (r *reader) withdraw(binding string) {
	r.Helper()
	if err := env.Kube.RbacV1().ClusterRoleBindings().Delete(r.Context(), binding, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// withdrawIn takes the rights of a binding in a namespace from the account.
func (r *reader) withdrawIn(namespace, binding string) {
	r.Helper()
	if err := env.Kube.RbacV1().RoleBindings(namespace).Delete(r.Context(), binding, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// untilReady waits at most a minute until the condition Ready has this status and reason, and its
// message these texts.
func (r *reader) untilReady(status metav1.ConditionStatus, reason string, texts ...string) {
	r.Helper()
	env.Within(r, aMinute, func(ctx context.Context) error {
		object, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, r.Controller.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason {
			return fmt.Errorf("the condition Ready is %+v", ready)
		}
		for _, text := range texts {
			if !strings.Contains(ready.Message, text) {
				return fmt.Errorf("the condition Ready does not say %q: %s", text, ready.Message)
			}
		}
		return nil
	})
}

// askForSecrets creates a parent whose customize hook asks for the Secrets of a namespace, and one whose hook asks for
// nothing. It waits until the first lacks the right and the second has its child.
func (r *reader) askForSecrets(namespace string) {
	r.Helper()
	r.CreateParent("harmless", harness.Object{"value": "1", "rules": []any{}})
	rules := []any{harness.Object{"apiVersion": "v1", "resource": "secrets", "namespace": namespace}}
	r.CreateParent("asking", harness.Object{"value": "1", "rules": rules})
	r.untilReady(metav1.ConditionFalse, "Forbidden", fmt.Sprintf("# missing permissions in a Role of namespace "+
		"%q", namespace), `resources: ["secrets"]`)
	env.WaitForEvent(r, r.Namespace, "asking", "SyncError", "lacks permissions to read")
	r.WaitForConfigMap("harmless", harness.HasData("value", "1"))
}

// callsOf returns how often the hook at a path was called.
func (r *reader) callsOf(path string) (count int) {
	for _, call := range r.Hook.Calls() {
		if call.Path == path {
			count++
		}
	}
	return count
}

// callsAbout returns how often the sync hook was called about a parent.
func (r *reader) callsAbout(parent string) int {
	r.Helper()
	return len(hook.Requests[hook.CompositeRequest](r, r.Hook, harness.SyncPath, parent))
}

// reviews returns the rights of the account that the server has asked for since a position of the
// audit log, as "verb resource namespace".
func (r *reader) reviews(from hostcluster.Position) (asked []string) {
	r.Helper()
	for _, event := range env.AuditEvents(r, from, hostcluster.Request{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}) {
		var review authorizationv1.SubjectAccessReview
		if err := json.Unmarshal(rawOf(event.RequestObject), &review); err != nil {
			r.Fatal(err)
		}
		if of := review.Spec.ResourceAttributes; of != nil && review.Spec.User == "system:serviceaccount:"+r.Namespace+":"+r.account {
			asked = append(asked, strings.Join([]string{of.Verb, of.Resource, of.Namespace}, " "))
		}
	}
	return asked
}

func rawOf(unknown *runtime.Unknown) []byte {
	if unknown == nil {
		return []byte("{}")
	}
	return unknown.Raw
}
