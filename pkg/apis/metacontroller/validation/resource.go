// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// validateResourceRule checks that a rule can name a resource. It does not check whether the host
// serves it.
func validateResourceRule(rule *v1alpha1.ResourceRule, path *field.Path) field.ErrorList {
	errs := validateAPIVersion(rule.APIVersion, path.Child("apiVersion"))
	errs = append(errs, validateResource(rule.Resource, path.Child("resource"))...)
	if len(errs) == 0 && v1alpha1.InMemory(rule.GroupResource()) {
		errs = append(errs, field.Invalid(path.Child("resource"), rule.Resource, v1alpha1.NotForSyncs))
	}
	return errs
}

func validateAPIVersion(apiVersion string, path *field.Path) field.ErrorList {
	const form = `"group/version", such as "apps/v1", or "version" for the core group, such as "v1"`
	if apiVersion == "" {
		return field.ErrorList{field.Required(path, "must be "+form)}
	}
	group, version, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup {
		group, version = "", apiVersion
	}
	if hasGroup && len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(version)) > 0 {
		return field.ErrorList{field.Invalid(path, apiVersion, "must be "+form)}
	}
	return nil
}

func validateResource(resource string, path *field.Path) field.ErrorList {
	const form = `the plural, lower-case name of the resource, such as "deployments"`
	if resource == "" {
		return field.ErrorList{field.Required(path, "must be "+form)}
	}
	if len(validation.IsDNS1123Label(resource)) > 0 {
		return field.ErrorList{field.Invalid(path, resource, "must be "+form)}
	}
	return nil
}

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		errs = append(errs, validateLabelKey(key, path.Child("matchLabels"))...)
		errs = append(errs, validateLabelValue(selector.MatchLabels[key], path.Child("matchLabels").Key(key))...)
	}
	for i, expression := range selector.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateExpression(expression, path)...)
		errs = append(errs, validateLabelKey(expression.Key, path.Child("key"))...)
		for i, value := range expression.Values {
			errs = append(errs, validateLabelValue(value, path.Child("values").Index(i))...)
		}
	}
	return errs
}

// validateAnnotationSelector checks a selector against the rules for annotations: values may be any text, and keys may
// have uppercase letters in their prefix.
func validateAnnotationSelector(selector *v1alpha1.AnnotationSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchAnnotations)) {
		errs = append(errs, validateAnnotationKey(key, path.Child("matchAnnotations"))...)
	}
	for i, expression := range selector.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateExpression(metav1.LabelSelectorRequirement(expression), path)...)
		errs = append(errs, validateAnnotationKey(expression.Key, path.Child("key"))...)
	}
	return errs
}

// validateExpression checks that there are values if, and only if, the operator needs some.
func validateExpression(expression metav1.LabelSelectorRequirement, path *field.Path) field.ErrorList {
	switch expression.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(expression.Values) == 0 {
			return field.ErrorList{field.Required(path.Child("values"), "must have at least one value for In and NotIn")}
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(expression.Values) > 0 {
			return field.ErrorList{field.Forbidden(path.Child("values"), "must be empty for Exists and DoesNotExist")}
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("operator"), expression.Operator, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
			metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		})}
	}
	return nil
}

func validateLabelKey(key string, path *field.Path) field.ErrorList {
	return invalid(key, validation.IsQualifiedName(key), path)
}

func validateAnnotationKey(key string, path *field.Path) field.ErrorList {
	return invalid(key, validation.IsQualifiedName(strings.ToLower(key)), path)
}

func validateLabelValue(value string, path *field.Path) field.ErrorList {
	return invalid(value, validation.IsValidLabelValue(value), path)
}

func invalid(value string, messages []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

func validateResyncOn(objects []v1alpha1.WatchedObject, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range objects {
		object, at := &objects[i], at.Index(i)
		errs = append(errs, validateResourceRule(&object.ResourceRule, at)...)
		if namespace := ptr.Deref(object.Namespace, ""); namespace != "" {
			errs = append(errs, validateNamespace(namespace, "must be the name of a namespace", at.Child("namespace"))...)
		}
		if object.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "must be the name of the object"))
		} else if len(content.IsPathSegmentName(object.Name)) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), object.Name, "must be the name of an object"))
		}
	}
	return errs
}

// validateAccess checks the service account of a controller and what the controller may reach. path is the spec.
func validateAccess(access *v1alpha1.Access, path *field.Path) field.ErrorList {
	errs := validateServiceAccount(access.ServiceAccount, path.Child("serviceAccount"))
	errs = append(errs, validateNamespaces(access.Namespaces, path.Child("namespaces"))...)
	for i := range access.RelatedResources {
		errs = append(errs, validateResourceRule(&access.RelatedResources[i], path.Child("relatedResources").Index(i))...)
	}
	return errs
}

func validateServiceAccount(account *v1alpha1.ServiceAccountReference, path *field.Path) field.ErrorList {
	if account == nil {
		return nil
	}
	errs := validateNamespace(account.Namespace, "must be the namespace of the ServiceAccount", path.Child("namespace"))
	if account.Name == "" {
		return append(errs, field.Required(path.Child("name"), "must be the name of the ServiceAccount"))
	}
	if len(apimachineryvalidation.ValidateServiceAccountName(account.Name, false)) > 0 {
		errs = append(errs, field.Invalid(path.Child("name"), account.Name,
			`must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`))
	}
	return errs
}

func validateNamespaces(namespaces []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, namespace := range namespaces {
		errs = append(errs, validateNamespace(namespace, "must be the name of a namespace", path.Index(i))...)
		if seen.Has(namespace) {
			errs = append(errs, field.Duplicate(path.Index(i), namespace))
		}
		seen.Insert(namespace)
	}
	return errs
}

func validateNamespace(namespace, meaning string, path *field.Path) field.ErrorList {
	if namespace == "" {
		return field.ErrorList{field.Required(path, meaning)}
	}
	if len(apimachineryvalidation.ValidateNamespaceName(namespace, false)) > 0 {
		return field.ErrorList{field.Invalid(path, namespace,
			`must be the name of a namespace: lower-case letters, digits and "-"`)}
	}
	return nil
}

func validateUpdateMethod(method v1alpha1.ChildUpdateMethod, path *field.Path) field.ErrorList {
	if method == "" || slices.Contains(v1alpha1.ChildUpdateMethods(), method) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, method, v1alpha1.ChildUpdateMethods())}
}

func validateApplyStrategy(strategy v1alpha1.ChildApplyStrategy, path *field.Path) field.ErrorList {
	switch strategy {
	case "", v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, strategy, []v1alpha1.ChildApplyStrategy{
		v1alpha1.ChildApplyDynamic,
		v1alpha1.ChildApplyServerSide,
	})}
}

// percentage matches "1%" to "100%".
var percentage = regexp.MustCompile(`^([1-9][0-9]?|100)%$`)

// validateMaxUnavailable checks how many children a rolling update may have in motion. With 0 it
// would never progress.
func validateMaxUnavailable(limit *intstr.IntOrString, path *field.Path) field.ErrorList {
	switch {
	case limit == nil:
	case limit.Type == intstr.Int && limit.IntVal < 1,
		limit.Type == intstr.String && !percentage.MatchString(limit.StrVal):
		return field.ErrorList{field.Invalid(path, limit.String(),
			`must be an integer of 1 or more, or a percentage from "1%" to "100%"`)}
	}
	return nil
}

func validatePartition(partition *int32, path *field.Path) field.ErrorList {
	if partition != nil && *partition < 0 {
		return field.ErrorList{field.Invalid(path, *partition,
			"must be 0 or more: the number of children that a rolling update does not move")}
	}
	return nil
}
