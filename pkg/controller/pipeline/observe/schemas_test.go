// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestSchemas(t *testing.T) {
	pods, webs := pipeline.Type{Kind: "Pod"}, pipeline.Type{Kind: "Web"}
	old, new := &openapi.Type{}, &openapi.Type{}
	known := map[pipeline.Type]*openapi.Type{pods: old}
	schemas := NewSchemas(known)
	delete(known, pods)
	if schemas.of(pods) != old || schemas.of(webs) != nil {
		t.Error("it does not know what it was made with, or more")
	}
	schemas.Update(map[pipeline.Type]*openapi.Type{webs: new})
	if schemas.of(pods) != old || schemas.of(webs) != new {
		t.Error("what is not told of a type should leave what was known")
	}
	schemas.Update(map[pipeline.Type]*openapi.Type{pods: new})
	if schemas.of(pods) != new {
		t.Error("what is told of a type should count")
	}
	var none *Schemas
	if none.of(pods) != nil {
		t.Error("no schemas should know nothing")
	}
	empty := NewSchemas(nil)
	empty.Update(map[pipeline.Type]*openapi.Type{pods: new})
	if empty.of(pods) != new {
		t.Error("what is told first should count")
	}
}
