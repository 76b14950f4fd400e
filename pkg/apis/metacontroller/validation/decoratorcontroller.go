// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ValidateDecoratorController returns the errors of a new DecoratorController.
func ValidateDecoratorController(controller *v1alpha1.DecoratorController) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&controller.ObjectMeta, false, apimachineryvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateDecoratorControllerSpec(controller, field.NewPath("spec"))...)
	errs = append(errs, tooLong(decoratorControllerLists(controller))...)
	errs = append(errs, tooWide(decoratorControllerReach(controller))...)
	return append(errs, validateDecoratorControllerSize(controller)...)
}

// ValidateDecoratorControllerUpdate returns the errors of an update: those of the spec that the
// stored object does not have. The registry checks the metadata of all kinds.
func ValidateDecoratorControllerUpdate(updated, stored *v1alpha1.DecoratorController) field.ErrorList {
	spec := field.NewPath("spec")
	errs := introduced(validateDecoratorControllerSpec(updated, spec), validateDecoratorControllerSpec(stored, spec))
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
		errs = append(errs, field.Required(path.Child("resources"), "lists the types of the objects to decorate"))
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
	return append(errs, validateEndpointConfigs(spec.EndpointConfigs, decoratorControllerHooks(spec.Hooks), path.Child("endpointConfigs"))...)
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
	errs = append(errs, validateLabelSelector(target.LabelSelector, path.Child("labelSelector"))...)
	return append(errs, validateAnnotationSelector(target.AnnotationSelector, path.Child("annotationSelector"))...)
}

func validateAttachment(attachment *v1alpha1.DecoratorControllerAttachmentRule, path *field.Path) field.ErrorList {
	errs := validateResourceRule(&attachment.ResourceRule, path)
	if attachment.UpdateStrategy != nil {
		errs = append(errs, validateUpdateMethod(attachment.UpdateStrategy.Method, path.Child("updateStrategy", "method"))...)
	}
	return errs
}

func validateDecoratorControllerHooks(hooks *v1alpha1.DecoratorControllerHooks, controller string, path *field.Path) field.ErrorList {
	if hooks == nil {
		return field.ErrorList{noHooks(path)}
	}
	return validateHooks(hooks.Sync, hooks.Finalize, hooks.Customize, v1alpha1.DecoratorFinalizerPrefix, controller, path)
}
