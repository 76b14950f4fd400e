// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// webSchema is the schema of a Web whose status has these properties, in JSON.
func webSchema(t *testing.T, status string) *openapi.Type {
	t.Helper()
	of := schema.GroupVersionKind{Group: "ctl.example", Version: "v1", Kind: "Web"}
	types, err := openapi.Read(fmt.Appendf(nil, `{"components":{"schemas":{"Web":{"properties":{"status":{"properties":{%s}}},
		"x-kubernetes-group-version-kind":[{"group":"ctl.example","version":"v1","kind":"Web"}]}}}}`, status),
		func(schema.GroupVersionKind) reflect.Type { return nil }, of)
	if err != nil {
		t.Fatal(err)
	}
	return types[of]
}

func TestAConditionThatTheHostDropsIsWarnedOf(t *testing.T) {
	const conditions, item = `"conditions":{"items":{"properties":{%s}}}`, `"type":{},"status":{},"reason":{},"message":{}`
	tests := map[string]struct {
		schema *openapi.Type
		want   []string
	}{
		"a parent whose schema is not known": {nil, nil},
		"a schema with the condition":        {webSchema(t, fmt.Sprintf(conditions, item+`,"lastTransitionTime":{}`)), nil},
		"a schema without the time": {webSchema(t, fmt.Sprintf(conditions, item)), []string{
			"Web default/shop: the cluster does not know the field status.conditions[].lastTransitionTime and drops it, " +
				"so the condition Updated, which shows how far a rollout is, has no lastTransitionTime; add it to the schema in the CustomResourceDefinition"}},
		"a schema without conditions": {webSchema(t, `"ready":{}`), []string{
			"Web default/shop: the cluster does not know the field status.conditions and drops it, " +
				"so the condition Updated does not show how far a rollout is; add it to the schema in the CustomResourceDefinition"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v2", "Pod a")
			w.snapshot.ParentType.Group, w.snapshot.ParentType.Kind = "ctl.example", "Web"
			w.snapshot.ParentSchema = test.schema
			for range 2 {
				var got []string
				for _, warning := range w.decide().Response.Warnings {
					got = append(got, warning.Message)
					if warning.Reason != pipeline.UnknownField || warning.About == "" {
						t.Errorf("the warning is %+v", warning)
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}
