// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// validateAccess checks as whom a controller acts, and what it may reach. The path is that of the spec.
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
	errs := validateNamespace(account.Namespace, "is the namespace of the ServiceAccount", path.Child("namespace"))
	if account.Name == "" {
		return append(errs, field.Required(path.Child("name"), "is the name of the ServiceAccount"))
	}
	if len(apimachineryvalidation.ValidateServiceAccountName(account.Name, false)) > 0 {
		errs = append(errs, field.Invalid(path.Child("name"), account.Name, `must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`))
	}
	return errs
}

func validateNamespaces(namespaces []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, namespace := range namespaces {
		errs = append(errs, validateNamespace(namespace, "is the name of a namespace", path.Index(i))...)
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
		return field.ErrorList{field.Invalid(path, namespace, `must be the name of a namespace: lower-case letters, digits and "-"`)}
	}
	return nil
}
