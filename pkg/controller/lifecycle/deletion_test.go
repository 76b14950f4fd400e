// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
)

func TestWhatADeletedControllerWaitsFor(t *testing.T) {
	const s = time.Second
	deleted := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	refused := &report.ParentError{Parent: object.Key{
		GroupKind: schema.GroupKind{Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: "default", Name: "a"},
	}, Message: "connection refused"}
	calls := []string{"it calls its finalize hook"}
	slow, both := parentcontroller.LeftToDo{Finalizing: 1}, parentcontroller.LeftToDo{Staying: 1, Finalizing: 1}
	failing := parentcontroller.LeftToDo{Finalizing: 1, Failure: refused}
	graceful := []string{"deleted before 2026-01-02T03:04:10Z"}
	untilThen := []string{"not responded for 30s", "Web default/a: connection refused"}
	tests := map[string]struct {
		left parentcontroller.LeftToDo
		// answered is when a hook has last answered, or when this process began, and after is now; both count from the
		// deletion.
		answered, after time.Duration
		// want are parts of what it waits for; it does not wait if there are none.
		want []string
	}{
		"no parent has the finalizer":                {},
		"a call is under way":                        {left: parentcontroller.LeftToDo{IsBusy: true}, want: calls},
		"a parent is being deleted":                  {left: parentcontroller.LeftToDo{Finalizing: 1}, after: 29 * s, want: calls},
		"the hook does not answer":                   {left: failing, after: 29 * s, want: untilThen},
		"the hook has not answered for long":         {left: failing, after: 30 * s},
		"this process has just started":              {left: failing, answered: time.Hour, after: time.Hour, want: untilThen},
		"the hook answers and takes long":            {left: slow, answered: 59 * s, after: 60 * s, want: calls},
		"the hook answered once":                     {left: failing, answered: 59 * s, after: 88 * s, want: untilThen},
		"the hook answered once, long ago":           {left: parentcontroller.LeftToDo{Finalizing: 1}, answered: 59 * s, after: 89 * s},
		"a parent may be deleted soon":               {left: parentcontroller.LeftToDo{Staying: 1}, after: 4 * s, want: graceful},
		"a parent stays":                             {left: parentcontroller.LeftToDo{Staying: 1}, after: 5 * s},
		"their definition is being deleted":          {left: parentcontroller.LeftToDo{Staying: 3, ToBeDeleted: 2}, answered: time.Hour, after: time.Hour, want: []string{"until the cluster deletes its parents (2 left)"}},
		"the hook is silent, and more would come":    {left: parentcontroller.LeftToDo{Finalizing: 1, Staying: 1, ToBeDeleted: 1}, after: 31 * s},
		"one stays and another one is being deleted": {left: both, after: 5 * s, want: calls},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.left.Answered = deleted.Add(test.answered)
			wait := deletionWait(test.left, deleted, deleted.Add(test.after))
			if wait == nil && len(test.want) > 0 || wait != nil && len(test.want) == 0 {
				t.Fatalf("it waits for %v", wait)
			}
			for _, part := range test.want {
				if !strings.Contains(wait.Error(), part) {
					t.Errorf("it waits for %q, which does not contain %q", wait, part)
				}
			}
		})
	}
}

// Each wait would last an hour, because the deletion is an hour ahead.
func TestWhichDeletedControllersDoNotWait(t *testing.T) {
	t.Parallel()
	type composite = v1alpha1.CompositeController
	noParentType := func(o *composite) { o.Spec.ParentResource.Resource = "no" }
	noChildType := func(o *composite) { o.Spec.ChildResources[0].Resource = "no" }
	soon := metav1.NewTime(time.Now().Add(time.Hour))
	tests := map[string]struct {
		change func(*composite)
		// before is how Ready begins before the deletion; empty if the object is being deleted when the process starts.
		before string
	}{
		"it has no parents":                  {func(*composite) {}, "True Running"},
		"it has no parents, after a restart": {func(*composite) {}, ""},
		"it is paused":                       {func(o *composite) { o.Spec.Paused = ptr.To(true) }, "True Running"},
		"it has no finalize hook any longer": {func(o *composite) { o.Spec.Hooks.Finalize = nil }, ""},
		"it cannot run":                      {noParentType, "False UnknownType"},
		"the host lacks the parent type":     {noParentType, ""},
		"the host lacks a child type":        {noChildType, "False UnknownType"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			object := finalizing("a", "v1 pods")
			test.change(object)
			if test.before == "" {
				object.DeletionTimestamp = &soon
			}
			f.create(t, object)
			if test.before != "" {
				f.untilReady(t, "a", test.before)
				f.update(t, "a", func(object *v1alpha1.CompositeController) { object.DeletionTimestamp = &soon })
			}
			waitUntil(t, func() string { return f.ready(t, "a") }, func() bool {
				object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "a", metav1.GetOptions{})
				return err == nil && len(object.Finalizers) == 0
			})
			if f.runs("a") {
				t.Error("the controller runs on")
			}
		})
	}
}

// A process that begins while an object is being deleted finds what an earlier one has said about it.
func TestADeletedControllerIsNotStalledAfterARestart(t *testing.T) {
	t.Parallel()
	own := fake.NewSimpleClientset()
	object := finalizing("a", "v1 pods")
	object.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		said := v1alpha1.NewCondition(v1alpha1.ConditionReady, v1alpha1.ReasonUnknownType, "no such type", 1)
		said.Type = kind
		if kind == v1alpha1.ConditionStalled {
			said.Status = metav1.ConditionTrue
		}
		object.Status.Conditions = append(object.Status.Conditions, said)
	}
	f := newFixtureWith(t, own)
	f.host.set("webs", hangs) // so that the finalizer is not removed from parents
	f.create(t, object)
	f.untilReady(t, "a", "False Deleting")
	stored, err := own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if said := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionStalled); said != nil {
		t.Errorf("it is stalled: %+v", said)
	}
}
