// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ValidateCompositeController returns the errors of a new CompositeController.
func ValidateCompositeController(controller *v1alpha1.CompositeController) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&controller.ObjectMeta, false,
		apimachineryvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateCompositeControllerSpec(controller, field.NewPath("spec"))...)
	errs = append(errs, tooLong(compositeControllerLists(controller))...)
	errs = append(errs, tooWide(compositeControllerReach(controller))...)
	return append(errs, validateCompositeControllerSize(controller)...)
}

// ValidateCompositeControllerUpdate returns the errors of an update: the errors of the spec that the stored object
// does not have. The registry checks the metadata of all kinds.
func ValidateCompositeControllerUpdate(updated, stored *v1alpha1.CompositeController) field.ErrorList {
	var errs field.ErrorList
	if !equality.Semantic.DeepEqual(&updated.Spec, &stored.Spec) {
		errs = introducedBy(validateCompositeControllerSpec, updated, stored, field.NewPath("spec"))
	}
	errs = append(errs, grownTooLong(compositeControllerLists(updated), compositeControllerLists(stored))...)
	errs = append(errs, grownTooWide(compositeControllerReach(updated), compositeControllerReach(stored))...)
	return append(errs, outgrown(updated, stored, validateCompositeControllerSize)...)
}

func validateCompositeControllerSize(controller *v1alpha1.CompositeController) field.ErrorList {
	return validateSize(controller, field.NewPath("spec"))
}

func validateCompositeControllerSpec(controller *v1alpha1.CompositeController, path *field.Path) field.ErrorList {
	spec := &controller.Spec
	errs := validateParentResource(&spec.ParentResource, path.Child("parentResource"))
	for i := range spec.ChildResources {
		errs = append(errs, validateChildResource(&spec.ChildResources[i], path.Child("childResources").Index(i))...)
	}
	errs = append(errs, validateCompositeControllerHooks(spec.Hooks, controller.Name, path.Child("hooks"))...)
	errs = append(errs, validateResyncOn(spec.ResyncOn, path.Child("resyncOn"))...)
	errs = append(errs, validateAccess(&spec.Access, path)...)
	return append(errs, validateEndpointConfigs(spec.EndpointConfigs, compositeControllerHooks(spec.Hooks),
		path.Child("endpointConfigs"))...)
}

// compositeControllerHooks returns the hooks that are called, with their names.
func compositeControllerHooks(hooks *v1alpha1.CompositeControllerHooks) []namedHook {
	if hooks == nil {
		return nil
	}
	return namedHooks(hooks.Sync, hooks.Finalize, hooks.Customize)
}

func validateParentResource(parent *v1alpha1.CompositeControllerParentResourceRule, path *field.Path) field.ErrorList {
	errs := validateResourceRule(&parent.ResourceRule, path)
	return append(errs, validateLabelSelector(parent.LabelSelector.Meta(), path.Child("labelSelector"))...)
}

func validateChildResource(child *v1alpha1.CompositeControllerChildResourceRule, path *field.Path) field.ErrorList {
	errs := validateResourceRule(&child.ResourceRule, path)
	strategy := child.UpdateStrategy
	if strategy == nil {
		return errs
	}
	path = path.Child("updateStrategy")
	errs = append(errs, validateUpdateMethod(strategy.GetMethod(), path.Child("method"))...)
	errs = append(errs, validateApplyStrategy(strategy.GetApply(), path.Child("apply"))...)
	errs = append(errs, validateMaxUnavailable(strategy.MaxUnavailable, path.Child("maxUnavailable"))...)
	errs = append(errs, validatePartition(strategy.Partition, path.Child("partition"))...)
	if strategy.StatusChecks == nil {
		return errs
	}
	for i, condition := range strategy.StatusChecks.Conditions {
		if condition.Type == "" {
			errs = append(errs, field.Required(path.Child("statusChecks", "conditions").Index(i).Child("type"),
				`must be the type of a condition in the child's status, such as "Ready"`))
		}
	}
	return errs
}

func validateCompositeControllerHooks(
	hooks *v1alpha1.CompositeControllerHooks, controller string, path *field.Path,
) field.ErrorList {
	if hooks == nil {
		return field.ErrorList{noHooks(path)}
	}
	errs := validateHooks(hooks.Sync, hooks.Finalize, hooks.Customize, v1alpha1.CompositeFinalizerPrefix, controller, path)
	// These two are never called, so only their version has to be valid: nothing else in them has
	// ever mattered.
	errs = append(errs, validateUncalled(hooks.PreUpdateChild, path.Child("preUpdateChild"))...)
	return append(errs, validateUncalled(hooks.PostUpdateChild, path.Child("postUpdateChild"))...)
}

// validateUncalled checks a hook that is never called.
func validateUncalled(hook *v1alpha1.Hook, path *field.Path) field.ErrorList {
	errs := validateHookVersion(hook, path)
	if hook != nil && hook.Inline != nil {
		errs = append(errs, field.Forbidden(path.Child("inline"), "the server never calls this hook"))
	}
	return errs
}

// ValidateDecoratorController returns the errors of a new DecoratorController.
func ValidateDecoratorController(controller *v1alpha1.DecoratorController) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&controller.ObjectMeta, false,
		apimachineryvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateDecoratorControllerSpec(controller, field.NewPath("spec"))...)
	errs = append(errs, tooLong(decoratorControllerLists(controller))...)
	errs = append(errs, tooWide(decoratorControllerReach(controller))...)
	return append(errs, validateDecoratorControllerSize(controller)...)
}

// ValidateDecoratorControllerUpdate returns the errors of an update: the errors of the spec that the stored object
// does not have. The registry checks the metadata of all kinds.
func ValidateDecoratorControllerUpdate(updated, stored *v1alpha1.DecoratorController) field.ErrorList {
	var errs field.ErrorList
	if !equality.Semantic.DeepEqual(&updated.Spec, &stored.Spec) {
		errs = introducedBy(validateDecoratorControllerSpec, updated, stored, field.NewPath("spec"))
	}
	errs = append(errs, grownTooLong(decoratorControllerLists(updated), decoratorControllerLists(stored))...)
	errs = append(errs, grownTooWide(decoratorControllerReach(updated), decoratorControllerReach(stored))...)
	return append(errs, outgrown(updated, stored, validateDecoratorControllerSize)...)
}

func validateDecoratorControllerSize(controller *v1alpha1.DecoratorController) field.ErrorList {
	return validateSize(controller, field.NewPath("spec"))
}

func validateDecoratorControllerSpec(controller *v1alpha1.DecoratorController, path *field.Path) field.ErrorList {
	spec := &controller.Spec
	var errs field.ErrorList
	if spec.Resources == nil {
		errs = append(errs, field.Required(path.Child("resources"), "must list the types of the objects to decorate"))
	}
	for i := range spec.Resources {
		errs = append(errs, validateTargetResource(&spec.Resources[i], path.Child("resources").Index(i))...)
	}
	for i := range spec.Attachments {
		errs = append(errs, validateAttachment(&spec.Attachments[i], path.Child("attachments").Index(i))...)
	}
	errs = append(errs, validateDecoratorControllerHooks(spec.Hooks, controller.Name, path.Child("hooks"))...)
	errs = append(errs, validateResyncOn(spec.ResyncOn, path.Child("resyncOn"))...)
	errs = append(errs, validateAccess(&spec.Access, path)...)
	return append(errs, validateEndpointConfigs(spec.EndpointConfigs, decoratorControllerHooks(spec.Hooks),
		path.Child("endpointConfigs"))...)
}

// decoratorControllerHooks returns the hooks that are called, with their names.
func decoratorControllerHooks(hooks *v1alpha1.DecoratorControllerHooks) []namedHook {
	if hooks == nil {
		return nil
	}
	return namedHooks(hooks.Sync, hooks.Finalize, hooks.Customize)
}

func validateTargetResource(target *v1alpha1.DecoratorControllerResourceRule, path *field.Path) field.ErrorList {
	errs := validateResourceRule(&target.ResourceRule, path)
	errs = append(errs, validateLabelSelector(target.LabelSelector.Meta(), path.Child("labelSelector"))...)
	return append(errs, validateAnnotationSelector(target.AnnotationSelector, path.Child("annotationSelector"))...)
}

func validateAttachment(attachment *v1alpha1.DecoratorControllerAttachmentRule, path *field.Path) field.ErrorList {
	errs := validateResourceRule(&attachment.ResourceRule, path)
	method := attachment.UpdateStrategy.GetMethod()
	return append(errs, validateUpdateMethod(method, path.Child("updateStrategy", "method"))...)
}

func validateDecoratorControllerHooks(
	hooks *v1alpha1.DecoratorControllerHooks, controller string, path *field.Path,
) field.ErrorList {
	if hooks == nil {
		return field.ErrorList{noHooks(path)}
	}
	return validateHooks(hooks.Sync, hooks.Finalize, hooks.Customize, v1alpha1.DecoratorFinalizerPrefix, controller, path)
}

// ValidateControllerStatusUpdate returns the errors of a new status of a CompositeController or DecoratorController,
// except for errors that the stored status also has.
func ValidateControllerStatusUpdate(updated, stored *v1alpha1.ControllerStatus) field.ErrorList {
	path := field.NewPath("status")
	return introduced(validateControllerStatus(updated, path), validateControllerStatus(stored, path))
}

func validateControllerStatus(status *v1alpha1.ControllerStatus, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))
	errs = append(errs, validateCount(status.ObservedGeneration, path.Child("observedGeneration"))...)
	if parents := status.Parents; parents != nil {
		path := path.Child("parents")
		errs = append(errs, validateCount(int64(parents.Total), path.Child("total"))...)
		errs = append(errs, validateCount(int64(parents.Synced), path.Child("synced"))...)
		errs = append(errs, validateCount(int64(parents.Failing), path.Child("failing"))...)
	}
	return errs
}

func validateCount(count int64, path *field.Path) field.ErrorList {
	if count < 0 {
		return field.ErrorList{field.Invalid(path, count, "must not be negative")}
	}
	return nil
}
