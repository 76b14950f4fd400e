// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

// findDifferences finds what the server refuses of the objects, and what it does otherwise than Metacontroller.
func (m *Migration) findDifferences(all objects, found *findings) error {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return err
	}
	var composites []*v1alpha1.CompositeController
	for name, of := range all {
		typed, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(of.name))
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content(of).Object, typed); err != nil {
			found.add(blocks, "%s: the server cannot read it: %s", name, err)
			continue
		}
		scheme.Default(typed)
		if err := invalid(typed); len(err) > 0 {
			found.add(blocks, "%s: the server does not take it: %s", name, err.ToAggregate())
		}
		say := func(format string, args ...any) { found.add(differs, "%s: "+format, append([]any{name}, args...)...) }
		switch typed := typed.(type) {
		case *v1alpha1.CompositeController:
			composites = append(composites, typed)
			ofComposite(typed, say)
		case *v1alpha1.DecoratorController:
			ofDecorator(typed, say)
		}
	}
	for name, warning := range admission.SharedParents(composites) {
		found.add(warns, "CompositeController %s: %s", name, warning)
	}
	return nil
}

// invalid returns why the server refuses an object.
func invalid(of runtime.Object) field.ErrorList {
	switch of := of.(type) {
	case *v1alpha1.CompositeController:
		return validation.ValidateCompositeController(of)
	case *v1alpha1.DecoratorController:
		return validation.ValidateDecoratorController(of)
	case *v1alpha1.ControllerRevision:
		return validation.ValidateControllerRevision(of)
	}
	return nil
}

// ofComposite says what a CompositeController will do differently. docs/compatibility.md has the rarer quirks.
func ofComposite(of *v1alpha1.CompositeController, say func(format string, args ...any)) {
	for _, child := range of.Spec.ChildResources {
		if child.UpdateStrategy.Rolls() {
			say("%s are rolled one by one to the end, also if a rolling update is in progress; Metacontroller stops after the "+
				"first child (Q2)", child.Resource)
			say("the condition Updated of its parents gets a lastTransitionTime, by one write of the status of each")
		}
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Finalize, hooks.Customize, say)
	}
}

// ofDecorator says what a DecoratorController will do differently.
func ofDecorator(of *v1alpha1.DecoratorController, say func(format string, args ...any)) {
	seen := map[schema.GroupResource]bool{}
	for _, rule := range of.Spec.Resources {
		if seen[rule.GroupResource()] {
			say("%s are listed twice: an object is selected if any of the rules selects it; with Metacontroller only the last "+
				"one counts (Q41)", rule.Resource)
		}
		seen[rule.GroupResource()] = true
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Finalize, hooks.Customize, say)
	}
}

func ofHooks(finalize, customize *v1alpha1.Hook, say func(format string, args ...any)) {
	if finalize != nil {
		say("it gets the finalizer %s; when it is deleted, its own finalizer is first taken off its parents (Q13)",
			v1alpha1.DrainFinalizer)
	}
	if customize != nil {
		say("its customize hook is asked again when labels or annotations of a parent change (Q26), and parents are synced " +
			"when labels of namespaces change (Q28)")
	}
}
