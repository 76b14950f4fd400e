// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

// cacheFlushSeconds is the default of Metacontroller's --cache-flush-interval, by which its informers resync all parents.
const cacheFlushSeconds = 30 * 60

// findDifferences finds what the server refuses of the objects, and what it does otherwise than Metacontroller.
func (m *Migration) findDifferences(all objects, found *findings) error {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return err
	}
	rollouts := rolloutsOf(all)
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
		internal, err := scheme.ConvertToVersion(typed, metacontroller.SchemeGroupVersion)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := invalid(internal); len(err) > 0 {
			found.add(blocks, "%s: the server does not take it: %s", name, err.ToAggregate())
		}
		say := func(format string, args ...any) { found.add(differs, "%s: "+format, append([]any{name}, args...)...) }
		switch typed := typed.(type) {
		case *v1alpha1.CompositeController:
			composites = append(composites, typed)
			ofComposite(typed, rollouts[typed.Spec.ParentResource.GroupResource()], say)
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
	case *metacontroller.CompositeController:
		return validation.ValidateCompositeController(of)
	case *metacontroller.DecoratorController:
		return validation.ValidateDecoratorController(of)
	case *metacontroller.ControllerRevision:
		return validation.ValidateControllerRevision(of)
	}
	return nil
}

// rolloutsOf returns how many parents of each type have more than one revision: their children are being rolled.
func rolloutsOf(all objects) map[schema.GroupResource]int {
	revisions := map[types.UID]int{}
	rolling := map[schema.GroupResource]int{}
	for _, of := range all {
		owner := metav1.GetControllerOf(of)
		if of.name != "ControllerRevision" || owner == nil {
			continue
		}
		if revisions[owner.UID]++; revisions[owner.UID] == 2 {
			rolling[schema.GroupResource{Group: of.GetLabels()[group+"/apiGroup"], Resource: of.GetLabels()[group+"/resource"]}]++
		}
	}
	return rolling
}

// ofComposite says what a CompositeController will do differently. rolling is how many of its parents are in the middle of a rolling
// update.
func ofComposite(of *v1alpha1.CompositeController, rolling int, say func(format string, args ...any)) {
	for _, child := range of.Spec.ChildResources {
		if child.UpdateStrategy == nil {
			continue
		}
		switch method := child.UpdateStrategy.Method; method {
		case v1alpha1.ChildUpdateRollingInPlace, v1alpha1.ChildUpdateRollingRecreate:
			say("%s are rolled one by one to the end; Metacontroller stops after the first child of each parent (Q2)", child.Resource)
			say("the condition Updated of its parents gets a lastTransitionTime, by one write of the status of each")
			if rolling > 0 {
				say("%s of its parents' type in the middle of a rolling update, which goes on", counted(rolling, "object"))
			}
		}
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Sync, hooks.Finalize, hooks.Customize, say)
	}
	ofPeriod(of.Spec.ResyncPeriodSeconds, say)
}

// ofDecorator says what a DecoratorController will do differently.
func ofDecorator(of *v1alpha1.DecoratorController, say func(format string, args ...any)) {
	seen := map[schema.GroupResource]bool{}
	for _, rule := range of.Spec.Resources {
		if seen[rule.GroupResource()] {
			say("%s are listed twice: an object is selected if any of the rules selects it; with Metacontroller only the last one counts (Q41)", rule.Resource)
		}
		seen[rule.GroupResource()] = true
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Sync, hooks.Finalize, hooks.Customize, say)
	}
	ofPeriod(of.Spec.ResyncPeriodSeconds, say)
}

func ofHooks(sync, finalize, customize *v1alpha1.Hook, say func(format string, args ...any)) {
	for _, hook := range []*v1alpha1.Hook{sync, finalize, customize} {
		if hook == nil || hook.Webhook == nil || hook.Webhook.Etag == nil {
			continue
		}
		if etag := hook.Webhook.Etag; ptr.Deref(etag.CacheTimeoutSeconds, 0) > 0 && etag.CacheCleanupSeconds == nil {
			say("it has an etag.cacheTimeoutSeconds without cacheCleanupSeconds, so Metacontroller never ran it; it runs here (Q20)")
		}
	}
	if finalize != nil && finalize.Webhook != nil {
		say("it gets the finalizer %s; when it is deleted, its own finalizer is first taken off its parents (Q13)", v1alpha1.DrainFinalizer)
	}
	if customize != nil && customize.Webhook != nil {
		say("its customize hook is asked again when labels or annotations of a parent change (Q26), and parents are synced when labels of namespaces change (Q28)")
		if customize.GetVersion() == v1alpha1.HookVersionV1 && sync.GetVersion() == v1alpha1.HookVersionV2 {
			say("its customize hook has version v1 and its sync hook v2: rules with names and no namespace stay in the parent's namespace (Q27)")
		}
	}
}

func ofPeriod(seconds *int32, say func(format string, args ...any)) {
	if period := ptr.Deref(seconds, 0); period >= cacheFlushSeconds {
		say("its resyncPeriodSeconds of %d has an effect; with Metacontroller it has none unless --cache-flush-interval is longer (Q33)", period)
	}
}
