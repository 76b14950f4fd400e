// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// marks answers that the target gets the label marked: yes.
func marks(asked request) object { return marksBy("marked")(asked) }

// marksBy answers that the target gets a label of that name.
func marksBy(name string) func(request) object {
	return func(request) object { return object{"labels": object{name: "yes"}} }
}

// rules replaces the rules by which targets of the fixture's type are selected.
func rules(selectors ...v1alpha1.DecoratorControllerResourceRule) change {
	return func(spec *v1alpha1.DecoratorControllerSpec) {
		of := spec.Resources[0].ResourceRule
		spec.Resources = nil
		for _, selector := range selectors {
			selector.ResourceRule = of
			spec.Resources = append(spec.Resources, selector)
		}
	}
}

// byAnnotations selects targets by their annotations.
func byAnnotations(match map[string]string,
	expressions ...v1alpha1.LabelSelectorRequirement) v1alpha1.DecoratorControllerResourceRule {
	return v1alpha1.DecoratorControllerResourceRule{
		AnnotationSelector: &v1alpha1.AnnotationSelector{MatchAnnotations: match, MatchExpressions: expressions},
	}
}

func byLabel(name, value string) v1alpha1.DecoratorControllerResourceRule {
	return v1alpha1.DecoratorControllerResourceRule{LabelSelector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]string{name: value}}}
}

// expectMarked waits until these targets have a mark. It fails the test if another target has one
// or the hook was called about it.
func (f *fixture) expectMarked(mark string, all []string, marked ...string) {
	f.Helper()
	for _, name := range marked {
		f.waitForLabel(name, mark, "yes")
	}
	f.Settle(marked[0]) // what came before that has been seen
	for _, name := range all {
		if slices.Contains(marked, name) {
			continue
		}
		f.waitForLabel(name, mark, "")
		if calls := hook.Requests[request](f, f.Hook, harness.SyncPath, name); len(calls) > 0 {
			f.Errorf("the hook was called %d times about %s, which is not selected", len(calls), name)
		}
	}
}

// Both selectors of a rule must match. The value of an annotation may be any text.
func TestQ40TargetsAreSelectedByLabelsAndAnnotations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("any text, ", 30) + "\n{\"even\": \"JSON\"} ✓"
	expression := func(key string, operator metav1.LabelSelectorOperator,
		values ...string) v1alpha1.LabelSelectorRequirement {
		return v1alpha1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	targets := map[string]object{
		"plain":   {"annotations": object{"b": "1"}},
		"labels":  {"labels": object{"a": "1"}},
		"notes":   {"annotations": object{"a": "1"}},
		"both":    {"labels": object{"a": "1"}, "annotations": object{"a": "1"}},
		"another": {"labels": object{"a": "2"}, "annotations": object{"a": "2"}},
		"long":    {"annotations": object{"a": long}},
	}
	all := &fixture{harness.Fixture{T: t, Env: env, Parents: env.Install(t, harness.CRD{Kind: "Thing"}), Namespace: env.Namespace(t)}}
	var names []string
	for name, metadata := range targets {
		names = append(names, name)
		all.CreateParentWith(name, metadata, object{})
	}
	labelsAndNotes := byLabel("a", "1")
	labelsAndNotes.AnnotationSelector = byAnnotations(map[string]string{"a": "1"}).AnnotationSelector
	for name, test := range map[string]struct {
		rule v1alpha1.DecoratorControllerResourceRule
		want []string
	}{
		"labels and annotations":    {labelsAndNotes, []string{"both"}},
		"an annotation of any text": {byAnnotations(map[string]string{"a": long}), []string{"long"}},
		"none of several texts":     {byAnnotations(nil, expression("a", metav1.LabelSelectorOpNotIn, long, "", "1")), []string{"plain", "labels", "another"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := harness.Name("marked")
			f := &fixture{harness.Fixture{T: t, Env: env, Parents: all.Parents, Namespace: all.Namespace, Hook: hook.Serve(t, answers(t, marksBy(mark)))}}
			f.RunDecorator(f.DecoratorSpec(rules(test.rule)))
			f.expectMarked(mark, names, test.want...)
		})
	}
}

// A target is selected if any rule of its type selects it.
func TestQ41RulesOfOneTypeAddUp(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, marks), rules(byLabel("a", "1"), byLabel("b", "1"), byAnnotations(map[string]string{"c": "1"})))
	f.CreateParentWith("by-first", object{"labels": object{"a": "1"}}, object{})
	f.CreateParentWith("by-second", object{"labels": object{"b": "1"}}, object{})
	f.CreateParentWith("by-third", object{"annotations": object{"c": "1"}}, object{})
	f.CreateParentWith("by-none", object{"labels": object{"c": "1"}, "annotations": object{"a": "1"}}, object{})
	f.expectMarked("marked", []string{"by-first", "by-second", "by-third", "by-none"}, "by-first", "by-second", "by-third")

	f.PatchParent("by-second", object{"metadata": object{"labels": object{"a": "1"}}})
	f.touch(harness.SyncPath, "by-second")
}

// A deleted target leaves no key in the queue, no metrics and no counts.
func TestQ41ADeletedTargetLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, marks), rules(byLabel("a", "1"), byLabel("b", "1")))
	for _, name := range []string{"one", "two", "three"} {
		f.CreateParentWith(name, object{"labels": object{"a": "1", "b": "1"}}, object{})
		f.waitForLabel(name, "marked", "yes")
	}
	for _, name := range []string{"one", "two"} {
		f.DeleteParent(name)
		f.WaitUntilParentIsGone(name)
	}
	f.Settle("three")
	calls := len(f.Hook.Calls())
	queue := "DecoratorController-" + f.Controller.Name
	env.Eventually(t, func(ctx context.Context) error {
		families, err := env.Metrics(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for _, family := range []string{"workqueue_depth", "workqueue_retries_total", "workqueue_unfinished_work_seconds"} {
			series := harness.Series(families[family], "name", queue)
			if len(series) != 1 {
				return fmt.Errorf("there are %d series %s", len(series), family)
			}
			if value := series[0].GetGauge().GetValue() + series[0].GetCounter().GetValue(); value != 0 {
				errs = append(errs, fmt.Errorf("%s is %v", family, value))
			}
		}
		return errors.Join(errs...)
	})
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Total != 1 || status.Parents.Failing != 0 {
			return fmt.Errorf("the counts are %+v, want 1 target", status.Parents)
		}
		return nil
	})
	if after := len(f.Hook.Calls()); after != calls {
		t.Errorf("the hook was called %d times with nothing to do", after-calls)
	}
}

// A target is synced when it starts to match. Without a finalize hook it is left as it is when it
// no longer matches.
func TestATargetComesToMatchAndCeasesTo(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), selecting)
	f.CreateParent("a", object{"value": "1"})
	f.CreateParentWith("b", selected(), object{"value": "1"})
	f.WaitForConfigMap("b", harness.HasData("value", "1"))
	if calls := hook.Requests[request](f, f.Hook, harness.SyncPath, "a"); len(calls) > 0 {
		t.Errorf("the hook was called %d times about a target that is not selected", len(calls))
	}
	f.PatchParent("a", object{"metadata": object{"labels": object{label: "here"}}})
	kept := f.WaitForConfigMap("a", harness.HasData("value", "1"))

	f.PatchParent("a", object{"metadata": object{"labels": object{label: "elsewhere"}}, "spec": object{"value": "2"}})
	f.PatchParent("b", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("b", harness.HasData("value", "2"))
	if still := f.WaitForConfigMap("a", harness.HasData("value", "1")); still.UID != kept.UID {
		t.Error("the attachment of a target that is no longer selected was made anew")
	}
	for _, asked := range hook.Requests[request](f, f.Hook, harness.SyncPath, "a") {
		if asked.Object.GetLabels()[label] != "here" {
			t.Error("the hook was called about a target that is no longer selected")
		}
	}
}

// The controller starts when a missing type of targets appears, and runs on for the others when it is removed.
func TestATargetTypeThatComesLateIsNoticed(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing"}, answers(t, oneConfigMap))
	late := harness.CRD{Kind: "Late", Group: harness.Name("late") + ".example.com"}
	f.RunDecorator(f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = append(spec.Resources, v1alpha1.DecoratorControllerResourceRule{
			ResourceRule: v1alpha1.ResourceRule{APIVersion: late.Group + "/v1", Resource: "lates"},
		})
	}))
	f.WaitForReady(metav1.ConditionFalse, "UnknownType")
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "CreateError",
		fmt.Sprintf(`Cannot create new controller: target type: can't find resource "lates" in apiVersion "%s/v1"`, late.Group))
	resource := env.Install(t, late)
	f.WaitForReady(metav1.ConditionTrue, "Running")
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	_, err := env.Dynamic.Resource(resource).Namespace(f.Namespace).Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": resource.GroupVersion().String(), "kind": "Late", "metadata": object{"name": "b"}, "spec": object{"value": "1"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.WaitForConfigMap("b", harness.HasData("value", "1"))
	env.Kubectl(t, "delete", "crd", resource.GroupResource().String(), "--timeout=60s")
	f.WaitForReady(metav1.ConditionFalse, "UnknownType")
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
}

// Status changes are ignored if all rules that select a target ignore them.
func TestQ34IgnoredStatusChanges(t *testing.T) {
	t.Parallel()
	quiet, loud := byLabel("a", "1"), byLabel("b", "1")
	quiet.IgnoreStatusChanges = ptr.To(true)
	f := start(t, answers(t, func(request) object { return object{} }), rules(quiet, loud))
	seen := func(phase string) func(request) bool {
		return func(asked request) bool {
			got, _, _ := unstructured.NestedString(asked.Object.Object, "status", "phase")
			return got == phase
		}
	}
	f.CreateParentWith("quiet", object{"labels": object{"a": "1"}}, object{})
	f.CreateParentWith("loud", object{"labels": object{"a": "1", "b": "1"}}, object{})
	f.Settle("quiet")
	f.Settle("loud")
	before := len(hook.Requests[request](f, f.Hook, harness.SyncPath, "quiet"))
	f.PatchParent("quiet", object{"status": object{"phase": "1"}}, "status")
	f.PatchParent("loud", object{"status": object{"phase": "1"}}, "status")
	harness.WaitForRequest(&f.Fixture, harness.SyncPath, "loud", seen("1"))
	f.PatchParent("quiet", object{"spec": object{"changed": true}})
	harness.WaitForRequest(&f.Fixture, harness.SyncPath, "quiet", func(asked request) bool { return asked.Object.GetGeneration() == 2 && seen("1")(asked) })
	if calls := len(hook.Requests[request](f, f.Hook, harness.SyncPath, "quiet")) - 1; calls != before {
		t.Errorf("the hook was called %d times about a change of the status", calls-before)
	}
}
