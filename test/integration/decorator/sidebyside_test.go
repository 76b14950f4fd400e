// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// selectors are the ways in which a composite may find its children. The attachments of decorators
// match the second.
var selectors = map[string]compositeChange{
	"a generated selector": func(*v1alpha1.CompositeControllerSpec) {},
	"a selector that matches the attachments": func(spec *v1alpha1.CompositeControllerSpec) {
		spec.GenerateSelector = nil
	},
}

// Two decorators and a composite may have the same targets and the same type of attachments. Each
// observes and changes only its own objects.
func TestDecoratorsAndACompositeLiveSideBySide(t *testing.T) {
	t.Parallel()
	for name, selector := range selectors {
		t.Run(name, func(t *testing.T) { testSideBySide(t, selector) })
	}
}

func testSideBySide(t *testing.T, selector compositeChange) {
	t.Parallel()
	// An annotation of the target says which finalize hook may finish.
	finished := func(i int) string { return fmt.Sprintf("finished-%d", i) }
	decorates := func(i int, suffix string) func(request) object {
		return func(asked request) object {
			name := asked.Object.GetName() + suffix
			expectOnly(t, asked.Attachments, name)
			return object{
				"attachments": []object{labelled(name, object{"app": "x"})},
				"labels":      object{"label" + suffix: "yes"},
				"annotations": object{"annotation" + suffix: "yes"},
				"finalized":   asked.Finalizing && asked.Object.GetAnnotations()[finished(i)] != "",
			}
		}
	}
	finalizes := func(spec *v1alpha1.DecoratorControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy() }
	f := prepare(t, harness.CRD{Kind: "Thing"}, answers(t, decorates(0, "-one")))
	f.RunDecorator(f.DecoratorSpec(finalizes))
	two := f.startAnother(answers(t, decorates(1, "-two")), finalizes)
	composite, compositeHook := f.startComposite(f.Parents, func(asked parentRequest) object {
		name := asked.Parent.GetName() + "-child"
		expectOnly(t, asked.Children, name)
		return object{
			"children":  []object{labelled(name, object{"app": "x"})},
			"status":    object{"children": len(asked.Children["ConfigMap.v1"])},
			"finalized": asked.Finalizing && asked.Parent.GetAnnotations()[finished(2)] != "",
		}
	}, selector, func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy() })

	target := f.CreateParent("a", object{"selector": object{"matchLabels": object{"app": "x"}}})
	uids := map[string]string{}
	for _, suffix := range []string{"-one", "-two", "-child"} {
		made := f.WaitForConfigMap("a"+suffix, harness.Exists)
		uids[made.Name] = string(made.UID)
	}
	finalizers := []string{
		"metacontroller.io/decoratorcontroller-" + f.Controller.Name,
		"metacontroller.io/decoratorcontroller-" + two.Controller.Name,
		"metacontroller.io/compositecontroller-" + composite,
	}
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		labels, annotations := target.GetLabels(), target.GetAnnotations()
		children, _, _ := unstructured.NestedInt64(target.Object, "status", "children")
		if labels["label-one"] == "" || labels["label-two"] == "" || annotations["annotation-one"] == "" || annotations["annotation-two"] == "" || children != 1 {
			return fmt.Errorf("labels %v, annotations %v, status.children %d", labels, annotations, children)
		}
		return sameFinalizers(target, finalizers)
	})
	f.expectNoOp("a", f.Hook, two.Hook, compositeHook)
	for name, uid := range uids {
		made := f.WaitForConfigMap(name, harness.Exists)
		owner := metav1.GetControllerOf(made)
		if string(made.UID) != uid || owner == nil || owner.UID != target.GetUID() || len(made.OwnerReferences) != 1 {
			t.Errorf("%s was replaced, or changed its owner: %v", name, made.OwnerReferences)
		}
	}

	f.DeleteParent("a")
	for i, last := range []int{1, 2, 0} { // not in the order in which they came
		f.Settle("a", f.Hook, two.Hook, compositeHook)
		f.PatchParent("a", object{"metadata": object{"annotations": object{finished(last): "yes"}}})
		finalizers[last] = ""
		if i < 2 {
			f.WaitForParent("a", func(target *unstructured.Unstructured) error { return sameFinalizers(target, finalizers) })
			continue
		}
		f.WaitUntilParentIsGone("a")
	}
}

// expectOnly checks that a hook is sent no ConfigMap but that of the name.
func expectOnly(t *testing.T, shown map[string]map[string]object, name string) {
	for other := range shown["ConfigMap.v1"] {
		if other != name {
			t.Errorf("a hook that has made %s is shown %s", name, other)
		}
	}
}

func sameFinalizers(target *unstructured.Unstructured, want []string) error {
	want = slices.DeleteFunc(slices.Clone(want), func(finalizer string) bool { return finalizer == "" })
	have := slices.Sorted(slices.Values(target.GetFinalizers()))
	if slices.Sort(want); !slices.Equal(have, want) {
		return fmt.Errorf("the finalizers are %v, want %v", have, want)
	}
	return nil
}

// An answer replaces the whole status. So several controllers share a status if each answers the
// fields of the others too.
func TestAStatusIsSharedByKeepingWhatOthersHaveInIt(t *testing.T) {
	t.Parallel()
	shared := func(has object, key string) object {
		status := maps.Clone(has)
		if status == nil {
			status = object{}
		}
		status[key] = "yes"
		return object{"status": status}
	}
	f := start(t, answers(t, func(asked request) object {
		status, _, _ := unstructured.NestedMap(asked.Object.Object, "status")
		return shared(status, "one")
	}))
	two := f.startAnother(answers(t, func(asked request) object {
		status, _, _ := unstructured.NestedMap(asked.Object.Object, "status")
		return shared(status, "two")
	}))
	_, compositeHook := f.startComposite(f.Parents, func(asked parentRequest) object {
		status, _, _ := unstructured.NestedMap(asked.Parent.Object, "status")
		return shared(status, "composite")
	})
	f.CreateParent("a", object{})
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		status, _, _ := unstructured.NestedMap(target.Object, "status")
		if len(status) != 4 || status["observedGeneration"] == nil {
			return fmt.Errorf("the status is %v", status)
		}
		return nil
	})
	f.expectNoOp("a", f.Hook, two.Hook, compositeHook)
}

// The second controller that wants a name has a name conflict. It gets the name when the first no
// longer needs it.
func TestANameThatAnotherControllerOfTheTargetHasIsTaken(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if wanted, _, _ := unstructured.NestedBool(asked.Object.Object, "spec", "wanted"); !wanted {
			return object{}
		}
		return object{"attachments": []object{hook.ConfigMap("name", object{"of": "the first"})}}
	}))
	f.CreateParent("a", object{"wanted": true})
	first := f.WaitForConfigMap("name", harness.HasData("of", "the first"))
	f.startComposite(f.Parents, func(parentRequest) object {
		return object{"children": []object{hook.ConfigMap("name", object{"of": "a composite"})}}
	})
	env.WaitForEvent(t, f.Namespace, "a", "ChildNameTaken", "ConfigMap "+f.Namespace+"/name")
	f.PatchParent("a", object{"spec": object{"wanted": false}})
	child := f.WaitForConfigMap("name", harness.HasData("of", "a composite"))
	if child.UID == first.UID || child.Annotations["metacontroller.k8s.io/decorator-controller"] != "" {
		t.Errorf("the composite's child should be another one, but is %v", child.ObjectMeta)
	}
	f.PatchParent("a", object{"spec": object{"wanted": true}})
	env.WaitForEvent(t, f.Namespace, "a", "ChildNameTaken", "(of this object, created by a CompositeController)")
}

// The attachments of each level are the targets of the next, and those of the last are parents.
func TestDecoratorsAndCompositesStackUp(t *testing.T) {
	t.Parallel()
	parts := env.Install(t, harness.CRD{Kind: "Part"})
	pieces := env.Install(t, harness.CRD{Kind: "Piece"})
	made := func(kind, apiVersion string, of unstructured.Unstructured) object {
		value, _, _ := unstructured.NestedString(of.Object, "spec", "value")
		return object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": of.GetName()}, "spec": object{"value": value}}
	}
	ofType := func(resource string, group string) change {
		return func(spec *v1alpha1.DecoratorControllerSpec) {
			spec.Attachments = []v1alpha1.DecoratorControllerAttachmentRule{harness.AttachmentRule(group+"/v1", resource, v1alpha1.ChildUpdateInPlace)}
		}
	}
	top := start(t, answers(t, func(asked request) object {
		return object{"attachments": []object{made("Part", parts.GroupVersion().String(), asked.Object)}}
	}), ofType(parts.Resource, parts.Group))
	middle := *top
	middle.Parents = parts
	second := middle.startAnother(answers(t, func(asked request) object {
		return object{
			"attachments": []object{made("Piece", pieces.GroupVersion().String(), asked.Object)},
			"labels":      object{"decorated": "yes"},
			"status":      object{"seen": true},
		}
	}), ofType(pieces.Resource, pieces.Group))
	_, bottom := top.startComposite(pieces, func(asked parentRequest) object {
		value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		return object{"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"value": value})}, "status": object{}}
	})
	top.CreateParent("a", object{"value": "1"})
	top.WaitForConfigMap("a", harness.HasData("value", "1"))
	top.PatchParent("a", object{"spec": object{"value": "2"}})
	top.WaitForConfigMap("a", harness.HasData("value", "2"))
	last := *second
	last.Parents = pieces
	last.WaitForParent("a", func(piece *unstructured.Unstructured) error { // it is written last of all
		if of, _, _ := unstructured.NestedInt64(piece.Object, "status", "observedGeneration"); of != piece.GetGeneration() {
			return fmt.Errorf("the status is not of generation %d: %v", piece.GetGeneration(), piece.Object["status"])
		}
		return nil
	})
	top.expectNoOp("a", top.Hook)
	second.expectNoOp("a", top.Hook, second.Hook)
	last.expectNoOp("a", second.Hook, bottom)
	top.DeleteParent("a")
	top.WaitUntilConfigMapIsGone("a")
}
