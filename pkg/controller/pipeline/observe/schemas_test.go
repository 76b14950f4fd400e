// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

func TestSchemas(t *testing.T) {
	pods, webs := object.Type{Kind: "Pod"}, object.Type{Kind: "Web"}
	old, new := &openapi.Type{}, &openapi.Type{}
	known := map[object.Type]*openapi.Type{pods: old}
	schemas := NewSchemas(known)
	delete(known, pods)
	if schemas.of(pods) != old || schemas.of(webs) != nil {
		t.Error("it does not know what it was made with, or more")
	}
	if changed := schemas.Update(map[object.Type]*openapi.Type{webs: new}); !changed || schemas.currentVersion() != 2 {
		t.Errorf("it changed: %v, and has the version %d", changed, schemas.currentVersion())
	}
	if changed := schemas.Update(map[object.Type]*openapi.Type{webs: new}); changed || schemas.currentVersion() != 2 {
		t.Errorf("the same again: it changed: %v, and has the version %d", changed, schemas.currentVersion())
	}
	if schemas.of(pods) != old || schemas.of(webs) != new {
		t.Error("what is not told of a type should leave what was known")
	}
	schemas.Update(map[object.Type]*openapi.Type{pods: new})
	if schemas.of(pods) != new {
		t.Error("what is told of a type should count")
	}
	var none *Schemas
	if none.of(pods) != nil || none.currentVersion() != 0 {
		t.Error("no schemas should know nothing")
	}
	empty := NewSchemas(nil)
	empty.Update(map[object.Type]*openapi.Type{pods: new})
	if empty.of(pods) != new {
		t.Error("what is told first should count")
	}
}
