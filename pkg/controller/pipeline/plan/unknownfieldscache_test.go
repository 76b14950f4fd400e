// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// A hook may answer a status, then none, and then the same status again. In between the schema may
// have got the field that was unknown.
func TestWhatWasNotSearchedWithNewSchemasIsForgotten(t *testing.T) {
	const status, child = 1, 2
	var cache unknownFieldsCache
	unknown := []openapi.UnknownField{{Path: "status.a"}}
	cache.status = status
	cache.put(status, 1, unknown)
	cache.prune(1, nil)
	if _, current := cache.get(status, 1); !current {
		t.Error("with the same schemas it is searched again")
	}

	cache.put(child, 2, nil)
	cache.prune(2, nil)
	if _, current := cache.get(status, 2); current {
		t.Error("what was found with the former schemas counts as found with the new ones")
	}
	if _, current := cache.get(child, 2); !current {
		t.Error("what was searched with the new schemas is searched again")
	}
}
