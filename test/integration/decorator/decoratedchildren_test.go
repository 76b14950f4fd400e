// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// family is a composite and a decorator of its children. The fixture's targets are the children.
type family struct {
	*fixture
	wholes        schema.GroupVersionResource
	composite     string
	compositeHook *hook.Server
}

// newFamily runs both. A child has the value and the labels of the parent's spec.
func newFamily(t *testing.T, engine v1alpha1.ChildApplyStrategy, method v1alpha1.ChildUpdateMethod) *family {
	t.Helper()
	f := &family{fixture: prepare(t, harness.CRD{Kind: "Part"}, answers(t, func(asked request) object {
		return object{
			"labels":      object{"decorated": "dec"},
			"annotations": object{"decorated": "by the decorator"},
			"status":      object{"decorated": true},
			"finalized":   asked.Finalizing,
		}
	}))}
	f.RunDecorator(f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Attachments = nil
		spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy()
	}))
	f.wholes = env.Install(t, harness.CRD{Kind: "Whole"})
	f.composite, f.compositeHook = f.startComposite(f.wholes, func(asked parentRequest) object {
		spec, _, _ := unstructured.NestedMap(asked.Parent.Object, "spec")
		if spec["none"] == true {
			return object{}
		}
		child := object{
			"apiVersion": f.Parents.GroupVersion().String(), "kind": "Part",
			"metadata": object{"name": asked.Parent.GetName()}, "spec": object{"value": spec["value"], "list": []object{{"name": "x", "value": spec["value"]}}},
		}
		if labels, ok := spec["labels"].(object); ok {
			child["metadata"] = object{"name": asked.Parent.GetName(), "labels": labels}
		}
		return object{"children": []object{child}, "status": object{"parts": len(asked.Children["Part."+f.Parents.GroupVersion().String()])}}
	}, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{{
			ResourceRule:   v1alpha1.ResourceRule{APIVersion: f.Parents.GroupVersion().String(), Resource: f.Parents.Resource},
			UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: new(method), Apply: &engine},
		}}
	})
	return f
}

// whole creates a parent.
func (f *family) whole(name string, spec object) {
	f.Helper()
	_, err := env.Dynamic.Resource(f.wholes).Namespace(f.Namespace).Create(f.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": f.wholes.GroupVersion().String(), "kind": "Whole", "metadata": object{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *family) patchWhole(name string, patch object) {
	f.Helper()
	parents := *f.fixture
	parents.Parents = f.wholes
	parents.PatchParent(name, patch)
}

// waitUntilDecorated waits until a child has a value and all that the decorator adds.
func (f *family) waitUntilDecorated(name, value string) *unstructured.Unstructured {
	f.Helper()
	return f.WaitForParent(name, func(part *unstructured.Unstructured) error {
		have, _, _ := unstructured.NestedString(part.Object, "spec", "value")
		decorated, _, _ := unstructured.NestedBool(part.Object, "status", "decorated")
		switch {
		case have != value:
			return fmt.Errorf("the value is %q, want %q", have, value)
		case !decorated || part.GetLabels()["decorated"] != "dec" || part.GetAnnotations()["decorated"] == "" || len(part.GetFinalizers()) != 1:
			return fmt.Errorf("it should be decorated: %v, status %v", part.Object["metadata"], part.Object["status"])
		case part.GetDeletionTimestamp() != nil:
			return errors.New("it is being deleted")
		}
		return nil
	})
}

// expectNoOp checks that further syncs of a child and of its parent write nothing.
func (f *family) expectNoOp(name string) {
	f.Helper()
	f.fixture.expectNoOp(name, f.Hook, f.compositeHook)
	f.expectNoOpAfter(func(text string) {
		f.patchWhole(name, object{"metadata": object{"annotations": object{"mark": text}}})
	}, f.compositeHook)
}

// A composite ignores and keeps what a decorator adds to its children.
func TestADecoratorOfACompositesChildren(t *testing.T) {
	t.Parallel()
	for _, engine := range harness.Engines() {
		for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateInPlace, v1alpha1.ChildUpdateRollingRecreate} {
			t.Run(fmt.Sprintf("%s %s", engine, method), func(t *testing.T) { testADecoratorOfChildren(t, engine, method) })
		}
	}
}

func testADecoratorOfChildren(t *testing.T, engine v1alpha1.ChildApplyStrategy, method v1alpha1.ChildUpdateMethod) {
	t.Parallel()
	f := newFamily(t, engine, method)
	f.whole("a", object{"value": "1"})
	first := f.waitUntilDecorated("a", "1")
	f.expectNoOp("a")

	f.patchWhole("a", object{"spec": object{"value": "2"}})
	second := f.waitUntilDecorated("a", "2")
	if replaced := first.GetUID() != second.GetUID(); replaced != (method == v1alpha1.ChildUpdateRollingRecreate) {
		t.Errorf("the child was replaced: %v", replaced)
	}
	f.expectNoOp("a")

	f.patchWhole("a", object{"spec": object{"none": true}})
	f.WaitUntilParentIsGone("a")
}

// Both may want the same label. When the composite no longer wants it, it removes the label and the
// decorator adds it again.
func TestALabelThatDecoratorAndCompositeWantAlike(t *testing.T) {
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, engine, v1alpha1.ChildUpdateInPlace)
			f.whole("a", object{"value": "1"})
			first := f.waitUntilDecorated("a", "1")
			for i, labels := range []any{object{"decorated": "dec"}, nil, object{"decorated": "dec", "more": "x"}, nil} {
				value := fmt.Sprint(i)
				f.patchWhole("a", object{"spec": object{"value": value, "labels": labels}})
				f.waitUntilDecorated("a", value)
				f.expectNoOp("a")
				after := f.waitUntilDecorated("a", value)
				if _, more := after.GetLabels()["more"]; after.GetUID() != first.GetUID() || more && labels == nil {
					t.Errorf("the child is %v", after.Object["metadata"])
				}
			}
		})
	}
}

// After a restart the server writes nothing, because nothing differs.
func TestADecoratedChildIsAtRestAfterARestart(t *testing.T) {
	var families []*family
	for _, engine := range harness.Engines() {
		f := newFamily(t, engine, v1alpha1.ChildUpdateInPlace)
		f.whole("a", object{"value": "1", "labels": object{"decorated": "dec"}})
		f.waitUntilDecorated("a", "1")
		f.expectNoOp("a")
		families = append(families, f)
	}
	from := env.AuditEnd(t)
	env.KillServer(t)
	env.StartServer(t)
	for _, f := range families {
		f.Settle("a", f.Hook, f.compositeHook)
		f.expectNoWrites(from)
		f.patchWhole("a", object{"spec": object{"value": "2"}})
		f.waitUntilDecorated("a", "2")
		f.expectNoOp("a")
	}
}
