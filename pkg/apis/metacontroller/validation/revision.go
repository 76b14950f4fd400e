// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"

	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ValidateControllerRevision returns the errors of a new ControllerRevision.
func ValidateControllerRevision(revision *v1alpha1.ControllerRevision) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&revision.ObjectMeta, true,
		apimachineryvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateControllerRevisionContent(revision)...)
	return append(errs, validateControllerRevisionSize(revision)...)
}

// ValidateControllerRevisionUpdate returns the errors of an update: the errors of the content that the stored object
// does not have. The registry checks the metadata of all kinds.
func ValidateControllerRevisionUpdate(updated, stored *v1alpha1.ControllerRevision) field.ErrorList {
	errs := introduced(validateControllerRevisionContent(updated), validateControllerRevisionContent(stored))
	return append(errs, outgrown(updated, stored, validateControllerRevisionSize)...)
}

func validateControllerRevisionSize(revision *v1alpha1.ControllerRevision) field.ErrorList {
	if len(validateParentPatch(&revision.ParentPatch, field.NewPath("parentPatch"))) > 0 {
		return nil
	}
	return validateSize(revision, field.NewPath("parentPatch"))
}

func validateControllerRevisionContent(revision *v1alpha1.ControllerRevision) field.ErrorList {
	errs := validateParentPatch(&revision.ParentPatch, field.NewPath("parentPatch"))
	for i := range revision.Children {
		errs = append(errs, validateRevisionChildren(&revision.Children[i], field.NewPath("children").Index(i))...)
	}
	return errs
}

func validateParentPatch(patch *runtime.RawExtension, path *field.Path) field.ErrorList {
	var content any
	if len(patch.Raw) > 0 {
		if err := json.Unmarshal(patch.Raw, &content); err != nil {
			return field.ErrorList{field.Invalid(path, string(patch.Raw), "must be a JSON object: "+err.Error())}
		}
	}
	switch content.(type) {
	case map[string]any:
		return nil
	case nil:
		return field.ErrorList{field.Required(path,
			`must be the part of the parent that this revision records, such as {"spec":{…}}`)}
	default:
		return field.ErrorList{field.Invalid(path, string(patch.Raw), `must be a JSON object, such as {"spec":{…}}`)}
	}
}

func validateRevisionChildren(children *v1alpha1.ControllerRevisionChildren, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if children.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), `must be the kind of the children, such as "Pod"`))
	}
	if children.Names == nil {
		errs = append(errs, field.Required(path.Child("names"),
			"must list the names of the children; the list may be empty"))
	}
	return errs
}
