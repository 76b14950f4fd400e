// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxSize is the maximum size of an object in bytes of JSON. By default, etcd refuses requests
// above 1.5 MiB. The difference leaves room for the status.
const maxSize = 1_500_000

// validateSize checks that an object fits into the storage. path is the largest field of the object.
func validateSize(object any, path *field.Path) field.ErrorList {
	data, err := json.Marshal(object)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("encode the object: %w", err))}
	case len(data) > maxSize:
		return field.ErrorList{{
			Type:   field.ErrorTypeTooLong,
			Field:  path.String(),
			Detail: fmt.Sprintf("the object has %d bytes of JSON, and %d can be stored", len(data), maxSize),
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
