// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// warnings collects likely mistakes, each with its field.
type warnings []string

func (w *warnings) add(path *field.Path, format string, args ...any) {
	*w = append(*w, path.String()+": "+fmt.Sprintf(format, args...))
}

// CompositeControllerWarnings returns warnings for the author of a CompositeController about likely
// mistakes in it.
func CompositeControllerWarnings(controller *v1alpha1.CompositeController) []string {
	var w warnings
	spec, path := &controller.Spec, field.NewPath("spec")
	w.parentResource(spec, path.Child("parentResource"))
	w.childResources(spec, path.Child("childResources"))
	if hooks, path := spec.Hooks, path.Child("hooks"); hooks != nil {
		w.hooks(hooks.Sync, hooks.Finalize, hooks.Customize, path)
		if hooks.PreUpdateChild != nil {
			w.add(path.Child("preUpdateChild"), "is never called")
		}
		if hooks.PostUpdateChild != nil {
			w.add(path.Child("postUpdateChild"), "is never called")
		}
	}
	w.endpointConfigs(spec.EndpointConfigs, compositeControllerHooks(spec.Hooks), path.Child("endpointConfigs"))
	w.resyncPeriod(spec.ResyncPeriodSeconds, path.Child("resyncPeriodSeconds"))
	return w
}

// DecoratorControllerWarnings returns warnings for the author of a DecoratorController about likely
// mistakes in it.
func DecoratorControllerWarnings(controller *v1alpha1.DecoratorController) []string {
	var w warnings
	spec, path := &controller.Spec, field.NewPath("spec")
	w.targets(spec, path.Child("resources"))
	w.attachments(spec, path.Child("attachments"))
	if hooks := spec.Hooks; hooks != nil {
		w.hooks(hooks.Sync, hooks.Finalize, hooks.Customize, path.Child("hooks"))
	}
	w.endpointConfigs(spec.EndpointConfigs, decoratorControllerHooks(spec.Hooks), path.Child("endpointConfigs"))
	w.resyncPeriod(spec.ResyncPeriodSeconds, path.Child("resyncPeriodSeconds"))
	return w
}

func (w *warnings) resyncPeriod(seconds *int32, path *field.Path) {
	if seconds != nil && *seconds < 1 {
		w.add(path, "is below 1, so that 1 is used")
	}
}
