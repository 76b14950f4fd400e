// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
		return field.ErrorList{field.Required(path, "is "+form)}
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
		return field.ErrorList{field.Required(path, "is "+form)}
	}
	if len(validation.IsDNS1123Label(resource)) > 0 {
		return field.ErrorList{field.Invalid(path, resource, "must be "+form)}
	}
	return nil
}
