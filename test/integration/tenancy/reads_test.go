// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A controller runs exactly while its account may read the types of its spec. Without, nothing is
// deleted.
func TestAControllerRunsWhileItsAccountMayReadItsTypes(t *testing.T) {
	t.Parallel()
	r := prepareReader(t, mirroring(t))
	r.CreateParent("a", harness.Object{"value": "1"})
	r.RunComposite(r.CompositeSpec(r.asAccount))
	r.untilReady(metav1.ConditionFalse, "Forbidden", "service account "+r.Namespace+"/"+r.account, `verbs: ["list", "watch"]`)
	r.WaitForCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue)
	env.WaitForEvent(t, "", r.Controller.Name, "CreateError", "lacks permissions to read")
	if calls := r.Hook.Calls(); len(calls) > 0 {
		t.Errorf("the hook was called %d times without the right", len(calls))
	}

	binding := r.pasteMissing()
	r.untilReady(metav1.ConditionTrue, "Running")
	child := r.WaitForConfigMap("a", harness.HasData("value", "1"))

	r.withdraw(binding)
	r.untilReady(metav1.ConditionFalse, "Forbidden", `resources: ["configmaps"]`)
	calls := len(r.Hook.Calls())
	r.PatchParent("a", harness.Object{"spec": harness.Object{"value": "2"}})
	r.CreateParent("b", harness.Object{"value": "3"})
	r.PatchController(harness.Object{"spec": harness.Object{"resyncPeriodSeconds": 3600}})
	r.WaitForController(func(metadata metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.ObservedGeneration != metadata.Generation {
			return fmt.Errorf("the status is of generation %d, not %d", status.ObservedGeneration, metadata.Generation)
		}
		return nil
	})
	// All controllers get the parents from one watch, so this one would have been told of them, too.
	witness := r.Fixture
	witness.Hook = hook.Serve(t, hook.Answering(t, func(hook.DecoratorRequest) map[string]any { return harness.Object{} }))
	witness.RunDecorator(witness.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: r.Namespace, Name: r.account}
		spec.Attachments = nil
	}))
	env.Eventually(t, func(context.Context) error {
		for name, value := range map[string]string{"a": "2", "b": "3"} {
			if !slices.ContainsFunc(hook.Requests[hook.DecoratorRequest](t, witness.Hook, harness.SyncPath, name), func(asked hook.DecoratorRequest) bool {
				seen, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
				return seen == value
			}) {
				return fmt.Errorf("the server has not seen parent %s with value %s", name, value)
			}
		}
		return nil
	})
	if now := len(r.Hook.Calls()); now != calls {
		t.Errorf("the hook was called %d times while the right was missing", now-calls)
	}
	if still, err := r.GetConfigMap(t.Context(), "a"); err != nil || still.ResourceVersion != child.ResourceVersion {
		t.Errorf("the child was touched while the right was missing: %v", err)
	}

	r.grant(readsChildren())
	r.untilReady(metav1.ConditionTrue, "Running")
	r.WaitForConfigMap("a", func(after *corev1.ConfigMap) error {
		if after.UID != child.UID {
			return errors.New("the child was replaced")
		}
		return harness.HasData("value", "2")(after)
	})
	r.WaitForConfigMap("b", harness.HasData("value", "3"))
}

// A controller without the right to read can be deleted.
func TestAControllerWithoutRightsIsDrained(t *testing.T) {
	t.Parallel()
	r := prepareReader(t, mirroring(t))
	binding := r.grant(readsChildren())
	r.CreateParent("a", harness.Object{"value": "1"})
	r.RunComposite(r.CompositeSpec(r.asAccount, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	}))
	r.WaitForConfigMap("a", harness.Exists)
	r.WaitForFinalizers("a", r.Finalizer())
	r.withdraw(binding)
	r.untilReady(metav1.ConditionFalse, "Forbidden")
	r.WaitForFinalizers("a", r.Finalizer())
	r.DeleteController()
	r.WaitUntilControllerIsGone()
	r.WaitForFinalizers("a")
	if r.callsOf(harness.FinalizePath) > 0 {
		t.Error("the finalize hook was called")
	}
	if !r.HasConfigMap("a") {
		t.Error("the child is gone")
	}
}

// What a customize hook asks for is shown exactly while the account may read it.
func TestRelatedObjectsAreShownWhileTheAccountMayReadThem(t *testing.T) {
	t.Parallel()
	r := prepareReader(t, mirroring(t))
	r.grant(readsChildren())
	other, content := env.Namespace(t), []byte("bm9ib2R5LW1heS1zZWUtdGhpcw==")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hidden-name"}, Data: map[string][]byte{"key": []byte("nobody-may-see-this")}}
	if _, err := env.Kube.CoreV1().Secrets(other).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	shown := func() bool {
		for _, call := range r.Hook.Calls() {
			if bytes.Contains(call.Body, content) || bytes.Contains(call.Body, []byte("hidden-name")) {
				return true
			}
		}
		return false
	}
	r.RunComposite(r.CompositeSpec(r.asAccount, customizes))
	r.askForSecrets(other)
	if r.HasConfigMap("asking") || shown() {
		t.Error("the Secret was shown")
	}

	binding := r.pasteMissing()
	r.untilReady(metav1.ConditionTrue, "Running")
	child := r.WaitForConfigMap("asking", harness.HasData("value", "1"))
	if !shown() {
		t.Error("the Secret was not shown with the right")
	}

	r.withdrawIn(other, binding)
	r.untilReady(metav1.ConditionFalse, "Forbidden", `resources: ["secrets"]`)
	calls := r.callsAbout("asking")
	r.PatchParent("asking", harness.Object{"metadata": harness.Object{"annotations": harness.Object{"test": "synced again"}}})
	r.PatchParent("harmless", harness.Object{"spec": harness.Object{"value": "2"}})
	r.WaitForConfigMap("harmless", harness.HasData("value", "2"))
	if now := r.callsAbout("asking"); now != calls {
		t.Errorf("the sync hook was called %d times while the right was missing", now-calls)
	}
	if still, err := r.GetConfigMap(t.Context(), "asking"); err != nil || still.ResourceVersion != child.ResourceVersion {
		t.Errorf("the child was touched while the right was missing: %v", err)
	}

	r.paste(`rules: [{apiGroups: [""], resources: [secrets], verbs: [list, watch]}]`, other)
	r.untilReady(metav1.ConditionTrue, "Running")
	env.Eventually(t, func(context.Context) error {
		if r.callsAbout("asking") == calls {
			return errors.New("the sync hook is not called again")
		}
		return nil
	})
}

// A customize hook may ask only for the types that spec.relatedResources lists, if it lists any.
func TestACustomizeHookMayAskOnlyForListedTypes(t *testing.T) {
	t.Parallel()
	r := prepareReader(t, mirroring(t))
	r.grant(readsChildren(), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services", "secrets"}, Verbs: []string{"list", "watch"}})
	r.RunComposite(r.CompositeSpec(r.asAccount, customizes, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.RelatedResources = []v1alpha1.ResourceRule{{APIVersion: "v1", Resource: "services"}}
	}))
	r.CreateParent("listed", harness.Object{"value": "1", "rules": []any{harness.Object{"apiVersion": "v1", "resource": "services"}}})
	r.CreateParent("other", harness.Object{"value": "1", "rules": []any{harness.Object{"apiVersion": "v1", "resource": "secrets"}}})
	r.WaitForConfigMap("listed", harness.Exists)
	env.WaitForEvent(t, r.Namespace, "other", "SyncError", "add {apiVersion: v1, resource: secrets} to spec.relatedResources")
	if r.HasConfigMap("other") || r.callsAbout("other") > 0 {
		t.Error("the sync hook was called")
	}
}

// The cluster is asked for rights to types, however many parents there are and are synced.
func TestReviewsAreBoundedByTypes(t *testing.T) {
	t.Parallel()
	const parents, interval, types = 15, 15 * time.Second, 3
	r := prepareReader(t, mirroring(t))
	r.grant(readsChildren(), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}})
	rules := []any{harness.Object{"apiVersion": "v1", "resource": "services", "namespace": r.Namespace}}
	begin, since := env.AuditEnd(t), time.Now()
	r.RunComposite(r.CompositeSpec(r.asAccount, customizes))
	for i := range parents {
		r.CreateParent(fmt.Sprintf("parent-%d", i), harness.Object{"value": "1", "rules": rules})
	}
	for i := range parents {
		r.WaitForConfigMap(fmt.Sprintf("parent-%d", i), harness.Exists)
	}
	for i := range parents {
		r.Touch(fmt.Sprintf("parent-%d", i), "once more")
	}
	r.Settle("parent-0")
	asked := r.reviews(begin)
	if most := 2 * types * (2 + int(time.Since(since)/interval)); len(asked) > most {
		t.Errorf("%d reviews were asked for, want %d at most: %v", len(asked), most, asked)
	}
	if distinct := sets.New(asked...); len(distinct) != 2*types {
		t.Errorf("rights were asked for that are not list and watch on the types: %v", sets.List(distinct))
	}
}
