// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

func TestTheRowsOfParents(t *testing.T) {
	f := newFixture(t, "states", func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	})
	f.CreateParent("failing", harness.Object{"fails": true})
	f.CreateParent("outdated", harness.Object{"children": 1})
	f.CreateParent("synced", harness.Object{"children": 2, "secrets": 1})
	f.CreateParentWith("paused", harness.Object{"annotations": harness.Object{v1alpha1.PausedAnnotation: "true"}}, harness.Object{})
	f.CreateParent("leaving", harness.Object{"stays": true})
	waitForState(&f, "leaving", v1alpha1.SyncStateSynced)
	f.CreateParent("waiting", harness.Object{"throttles": true})
	f.DeleteParent("leaving")

	waitForState(&f, "failing", v1alpha1.SyncStateFailing)
	waitForState(&f, "synced", v1alpha1.SyncStateSynced)
	waitForState(&f, "outdated", v1alpha1.SyncStateSynced)
	waitForState(&f, "paused", v1alpha1.SyncStatePaused)
	waitForState(&f, "waiting", v1alpha1.SyncStateWaiting)
	waitForState(&f, "leaving", v1alpha1.SyncStateWaiting)
	f.PatchParent("failing", harness.Object{"metadata": harness.Object{"annotations": harness.Object{v1alpha1.PausedAnnotation: "true"}}}) // so that its retries end
	waitForState(&f, "failing", v1alpha1.SyncStatePaused)
	expectGolden(&f, "rows.txt",
		"get syncs -n NAMESPACE",
		"get syncs -n NAMESPACE -o wide",
		"get syncs -n NAMESPACE --field-selector state=Waiting,controller=states",
		"get syncs -n NAMESPACE --field-selector kind=DecoratorController",
		"get syncs -A -l metacontroller.k8s.io/controller-name=states,metacontroller.k8s.io/controller-kind=CompositeController",
		"get sync -n NAMESPACE cc:states:synced -o yaml",
		"get sync -n NAMESPACE cc:states:leaving -o yaml",
	)
	f.PatchParent("leaving", harness.Object{"spec": harness.Object{"stays": false}})
	f.WaitUntilParentIsGone("leaving")
}

// A rollout goes on only when the child that moved last is healthy, which a ConfigMap never says.
func TestTheRowOfAParentThatRollsOut(t *testing.T) {
	f := newFixture(t, "rolling", func(spec *v1alpha1.CompositeControllerSpec) {
		rule := harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateRollingInPlace)
		rule.UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready"}}}
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{rule}
	})
	f.CreateParent("web", harness.Object{"children": 3, "text": "1"})
	waitForState(&f, "web", v1alpha1.SyncStateSynced)
	f.PatchParent("web", harness.Object{"spec": harness.Object{"text": "2"}})
	env.Eventually(t, func(ctx context.Context) error {
		row, err := env.Metacontroller.MetacontrollerV1alpha1().Syncs(f.Namespace).Get(ctx, rowOf(&f, "web"), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if children := row.Status.Children; row.Status.State != v1alpha1.SyncStateProgressing ||
			*children != (v1alpha1.SyncChildren{Wanted: 3, AsWanted: 1}) ||
			!strings.Contains(row.Status.Message, "status check") { // the sync before that says what it updates
			return fmt.Errorf("the row is %+v, with the children %+v", row.Status, children)
		}
		return nil
	})
	expectGolden(&f, "rollout.txt", "get syncs -n NAMESPACE")
}

// The rows of cluster-scoped targets are in the namespace of the server.
func TestTheRowsOfTargets(t *testing.T) {
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing", ClusterScoped: true}, hook.Serve(t, func(context.Context, hook.Call) hook.Answer {
		return hook.JSON(harness.Object{"annotations": harness.Object{"seen": "yes"}})
	}))
	f.Namespace = ""
	f.Controller = harness.Decorator(f.CreateDecorator("marks", f.DecoratorSpec()).Name)
	f.CreateParent("a", harness.Object{})
	name := "dec:marks:things." + f.Parents.Group + ":a"
	env.Eventually(t, func(ctx context.Context) error {
		row, err := env.Metacontroller.MetacontrollerV1alpha1().Syncs("metacontroller").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if row.Status.State != v1alpha1.SyncStateSynced || row.Status.LastSteps == nil || row.Spec.Parent.Namespace != "" {
			return fmt.Errorf("the row is %+v", row)
		}
		return nil
	})
	expectGolden(&f, "targets.txt", "get syncs -n metacontroller", "get sync -n metacontroller "+name+" -o yaml")
}

func TestTheCallsOfHooks(t *testing.T) {
	f := newFixture(t, "calls")
	f.CreateParent("good", harness.Object{"children": 1, "secrets": 1})
	waitForState(&f, "good", v1alpha1.SyncStateSynced)
	f.Settle("good")
	f.CreateParent("bad", harness.Object{"fails": true})
	waitForState(&f, "bad", v1alpha1.SyncStateFailing)
	f.PatchParent("bad", harness.Object{"metadata": harness.Object{"annotations": harness.Object{v1alpha1.PausedAnnotation: "true"}}})
	waitForState(&f, "bad", v1alpha1.SyncStatePaused)
	list, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "parent=good,result=Succeeded"})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("there are %d calls, %v", len(list.Items), err)
	}
	first := list.Items[0]
	if first.Status.Request.Object != nil || first.Status.Response.Object != nil {
		t.Errorf("a list has the bodies of a call: %+v", first.Status)
	}
	last := list.Items[len(list.Items)-1]
	expectGolden(&f, "calls.txt",
		"get hookcalls -n NAMESPACE --field-selector metadata.name="+first.Name,
		"get hookcalls -n NAMESPACE --field-selector metadata.name="+first.Name+" -o wide",
		"get hookcall -n NAMESPACE "+first.Name+" -o yaml",
	)
	failed, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "parent=bad,hook=sync"})
	if err != nil || len(failed.Items) == 0 {
		t.Fatalf("there are %d calls that failed, %v", len(failed.Items), err)
	}
	expectGolden(&f, "failedcalls.txt", "get hookcalls -n NAMESPACE --field-selector metadata.name="+failed.Items[0].Name)
	whole, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).Get(t.Context(), last.Name, metav1.GetOptions{})
	if err != nil || whole.Status.Request.Object == nil {
		t.Errorf("the last call is %+v, %v", whole, err)
	}
	env.Kubectl(t, "delete", "namespace", f.Namespace)
	env.Eventually(t, func(ctx context.Context) error {
		left, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d calls outlive their namespace", len(left.Items))
		}
		return err
	})
}
