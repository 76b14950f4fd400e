// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The bounds of a review.
const (
	maxReviewSeconds = 30
	maxReviewParents = 100
)

// ValidateSyncReview returns the errors of a review. It does not look up the objects that the review names.
func ValidateSyncReview(review *v1alpha1.SyncReview) field.ErrorList {
	path, spec := field.NewPath("spec"), &review.Spec
	errs := validateReviewedController(&spec.Controller, path.Child("controller"))
	errs = append(errs, validateReviewedParents(spec, path)...)
	for _, given := range []struct {
		name string
		raw  *runtime.RawExtension
	}{{"candidate", spec.Candidate}, {"object", spec.Object}, {"response", spec.Response}, {"request", spec.Request}} {
		if given.raw != nil {
			errs = append(errs, validateJSONObject(given.raw.Raw, path.Child(given.name))...)
		}
	}
	for i := range spec.Responses {
		errs = append(errs, validateReviewedResponse(&spec.Responses[i], path.Child("responses").Index(i))...)
	}
	if spec.Request != nil && spec.Parents != nil {
		errs = append(errs, field.Forbidden(path.Child("request"),
			"is about one parent, so it cannot be combined with parents"))
	}
	errs = append(errs, oneOf(spec.Calls, path.Child("calls"), v1alpha1.SyncReviewCallsAll,
		v1alpha1.SyncReviewCallsNone)...)
	errs = append(errs, oneOf(spec.Until, path.Child("until"), v1alpha1.SyncReviewUntilRequest,
		v1alpha1.SyncReviewUntilResponse,
		v1alpha1.SyncReviewUntilPlan, v1alpha1.SyncReviewUntilDryRun)...)
	errs = append(errs, oneOf(spec.Details, path.Child("details"), v1alpha1.SyncReviewDetailsAll,
		v1alpha1.SyncReviewDetailsSteps)...)
	return append(errs, between(spec.TimeoutSeconds, maxReviewSeconds, path.Child("timeoutSeconds"))...)
}

func validateReviewedController(controller *v1alpha1.SyncReviewController, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch controller.Kind {
	case "CompositeController", "DecoratorController":
	case "":
		errs = append(errs, field.Required(path.Child("kind"), "must be CompositeController or DecoratorController"))
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), controller.Kind,
			[]string{"CompositeController", "DecoratorController"}))
	}
	if controller.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must be the name of the controller"))
	}
	return errs
}

// validateReviewedParents checks that exactly one field selects the parents to review.
func validateReviewedParents(spec *v1alpha1.SyncReviewSpec, path *field.Path) field.ErrorList {
	selectors := 0
	for _, isSet := range []bool{spec.Parent != nil, spec.Parents != nil, spec.Object != nil} {
		if isSet {
			selectors++
		}
	}
	var errs field.ErrorList
	switch {
	case selectors == 0:
		errs = append(errs, field.Required(path.Child("parent"), "set parent, parents or object"))
	case selectors > 1:
		errs = append(errs, field.Forbidden(path, "only one of parent, parents and object may be set"))
	}
	if spec.Parent != nil {
		errs = append(errs, validateReviewedParent(spec.Parent, path.Child("parent"))...)
	}
	if spec.Parents != nil {
		errs = append(errs, validateLabelSelector(spec.Parents.LabelSelector, path.Child("parents", "labelSelector"))...)
		errs = append(errs, between(spec.Parents.Limit, maxReviewParents, path.Child("parents", "limit"))...)
	}
	return errs
}

func validateReviewedParent(parent *v1alpha1.SyncReviewParent, path *field.Path) field.ErrorList {
	if parent.Name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "must be the name of the parent")}
	}
	return nil
}

func validateReviewedResponse(response *v1alpha1.SyncReviewResponse, path *field.Path) field.ErrorList {
	hooks := []string{"sync", "finalize", "customize"}
	var errs field.ErrorList
	switch {
	case response.Hook == "":
		errs = append(errs, field.Required(path.Child("hook"), "must be sync, finalize or customize"))
	case !slices.Contains(hooks, response.Hook):
		errs = append(errs, field.NotSupported(path.Child("hook"), response.Hook, hooks))
	}
	if response.Parent != nil {
		errs = append(errs, validateReviewedParent(response.Parent, path.Child("parent"))...)
	}
	return append(errs, validateJSONObject(response.Response.Raw, path.Child("response"))...)
}

func validateJSONObject(raw []byte, path *field.Path) field.ErrorList {
	var content map[string]json.RawMessage
	if err := json.Unmarshal(raw, &content); err != nil || content == nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be a JSON object")}
	}
	return nil
}

// oneOf checks that a value is one of the supported ones. An empty value is the default.
func oneOf[T ~string](value T, path *field.Path, all ...T) field.ErrorList {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, all)}
}

// between checks that a number is from 1 to most. A nil number is the default.
func between(number *int32, most int32, path *field.Path) field.ErrorList {
	if number == nil || 1 <= *number && *number <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *number, fmt.Sprintf("must be from 1 to %d", most))}
}

// ValidateResyncRequest returns the errors of a request. It does not look up parents.
func ValidateResyncRequest(request *v1alpha1.ResyncRequest) field.ErrorList {
	at, spec := field.NewPath("spec"), &request.Spec
	switch {
	case spec.Parent == nil && spec.Parents == nil:
		return field.ErrorList{field.Required(at.Child("parent"), "set parent or parents; parents: {} selects all parents")}
	case spec.Parent != nil && spec.Parents != nil:
		return field.ErrorList{field.Forbidden(at, "only one of parent and parents may be set")}
	case spec.Parent != nil:
		return validateReviewedParent(spec.Parent, at.Child("parent"))
	}
	return validateLabelSelector(spec.Parents.LabelSelector, at.Child("parents", "labelSelector"))
}
