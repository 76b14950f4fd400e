// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

var listIndex = regexp.MustCompile(`\[\d+\]`)

// introduced returns the errors of an updated object that the object did not have before the
// update. Two errors are the same if field, value and message are the same. An item of a list may
// have moved, so the index in the field may differ if there was no such error at the same index.
func introduced(updated, before field.ErrorList) field.ErrorList {
	remaining := without(updated, before, exactly)
	gone := without(before, updated, exactly)
	return without(remaining, gone, anywhereInLists)
}

// introducedBy is introduced for a validation. It validates the stored object, whose hooks take long to compile, only
// if the updated one has errors.
func introducedBy[C any](
	validate func(*C, *field.Path) field.ErrorList, updated, stored *C, path *field.Path,
) field.ErrorList {
	errs := validate(updated, path)
	if len(errs) == 0 {
		return nil
	}
	return introduced(errs, validate(stored, path))
}

// without returns errs without those in known. Each error in known removes one error.
func without(errs, known field.ErrorList, identity func(*field.Error) string) field.ErrorList {
	counts := make(map[string]int, len(known))
	for _, err := range known {
		counts[identity(err)]++
	}
	var rest field.ErrorList
	for _, err := range errs {
		if id := identity(err); counts[id] > 0 {
			counts[id]--
			continue
		}
		rest = append(rest, err)
	}
	return rest
}

func exactly(err *field.Error) string {
	return err.Error()
}

func anywhereInLists(err *field.Error) string {
	return listIndex.ReplaceAllString(err.Field, "[*]") + ": " + err.ErrorBody()
}

// Each item of these lists costs requests to the cluster: at admission, when the controller starts, and while it runs.
const (
	maxTypes           = 256
	maxNamespaces      = 64
	maxEndpointConfigs = 64
	maxResyncOn        = 16
)

// list is a list in a spec whose length is limited.
type list struct {
	path         *field.Path
	length, most int
}

func compositeControllerLists(controller *v1alpha1.CompositeController) []list {
	spec, path := &controller.Spec, field.NewPath("spec")
	return append(accessLists(&spec.Access, path),
		list{path.Child("childResources"), len(spec.ChildResources), maxTypes},
		list{path.Child("resyncOn"), len(spec.ResyncOn), maxResyncOn},
		list{path.Child("endpointConfigs"), len(spec.EndpointConfigs), maxEndpointConfigs})
}

func decoratorControllerLists(controller *v1alpha1.DecoratorController) []list {
	spec, path := &controller.Spec, field.NewPath("spec")
	return append(accessLists(&spec.Access, path),
		list{path.Child("resources"), len(spec.Resources), maxTypes},
		list{path.Child("attachments"), len(spec.Attachments), maxTypes},
		list{path.Child("resyncOn"), len(spec.ResyncOn), maxResyncOn},
		list{path.Child("endpointConfigs"), len(spec.EndpointConfigs), maxEndpointConfigs})
}

func accessLists(access *v1alpha1.Access, path *field.Path) []list {
	return []list{
		{path.Child("namespaces"), len(access.Namespaces), maxNamespaces},
		{path.Child("relatedResources"), len(access.RelatedResources), maxTypes},
	}
}

// tooLong returns the errors of lists that are too long.
func tooLong(lists []list) field.ErrorList {
	var errs field.ErrorList
	for _, list := range lists {
		if list.length > list.most {
			errs = append(errs, field.TooMany(list.path, list.length, list.most))
		}
	}
	return errs
}

// grownTooLong returns the errors of updated lists that are too long and longer than the stored ones.
func grownTooLong(updated, stored []list) field.ErrorList {
	var grown []list
	for i, list := range updated {
		if list.length > stored[i].length {
			grown = append(grown, list)
		}
	}
	return tooLong(grown)
}

// maxReach limits the number of types times the number of namespaces of a controller. The server reviews rights to each
// type in each namespace: those of the author at admission, and those of the service account while the controller runs.
const maxReach = 1024

// reach counts the namespaces of a controller and the types in its spec. fields names the fields with the types.
type reach struct {
	types, namespaces int
	fields            string
}

func compositeControllerReach(controller *v1alpha1.CompositeController) reach {
	spec := &controller.Spec
	return reach{
		types:      1 + len(spec.ChildResources) + len(spec.RelatedResources),
		namespaces: len(spec.Namespaces),
		fields:     "spec.parentResource, spec.childResources and spec.relatedResources",
	}
}

func decoratorControllerReach(controller *v1alpha1.DecoratorController) reach {
	spec := &controller.Spec
	return reach{
		types:      len(spec.Resources) + len(spec.Attachments) + len(spec.RelatedResources),
		namespaces: len(spec.Namespaces),
		fields:     "spec.resources, spec.attachments and spec.relatedResources",
	}
}

func (r reach) size() int { return r.types * r.namespaces }

// tooWide returns the error of a reach that is too wide.
func tooWide(r reach) field.ErrorList {
	if r.size() <= maxReach {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "namespaces"), fmt.Sprintf(
		"%d namespaces times %d types (%s) are %d, but the maximum is %d; use several controllers",
		r.namespaces, r.types, r.fields, r.size(), maxReach))}
}

// grownTooWide returns the error of an updated reach that is too wide and wider than the stored one.
func grownTooWide(updated, stored reach) field.ErrorList {
	if updated.size() <= stored.size() {
		return nil
	}
	return tooWide(updated)
}

// maxSize is the maximum size of an object in bytes of JSON. By default, etcd refuses requests
// above 1.5 MiB. The difference leaves room for the status.
const maxSize = 1_500_000

// validateSize checks that the storage can hold an object. path is the largest field of the object, which the error
// names.
func validateSize(object any, path *field.Path) field.ErrorList {
	data, err := json.Marshal(object)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("encode the object: %w", err))}
	case len(data) > maxSize:
		return field.ErrorList{{
			Type:   field.ErrorTypeTooLong,
			Field:  path.String(),
			Detail: fmt.Sprintf("the object has %d bytes of JSON, but the maximum is %d", len(data), maxSize),
		}}
	}
	return nil
}

// outgrown returns the errors of the size of an updated object. It returns none if the stored
// object is too large already.
func outgrown[O any](updated, stored O, validate func(O) field.ErrorList) field.ErrorList {
	errs := validate(updated)
	if len(errs) > 0 && len(validate(stored)) > 0 {
		return nil
	}
	return errs
}
