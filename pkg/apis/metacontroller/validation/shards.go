// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxShards bounds how many parts a controller is split into. The status has an entry for each.
const maxShards = 32

func validateShards(shards *int32, path *field.Path) field.ErrorList {
	if shards == nil || *shards >= 1 && *shards <= maxShards {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *shards, fmt.Sprintf("must be from 1 to %d; 1, or no value, does not split the controller", maxShards))}
}
