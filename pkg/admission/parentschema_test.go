// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func rolling(spec *v1alpha1.CompositeControllerSpec) {
	spec.ChildResources[0].UpdateStrategy = &v1alpha1.CompositeControllerChildUpdateStrategy{Method: v1alpha1.ChildUpdateRollingInPlace}
}

func TestFieldsThatTheSchemaOfParentsLacks(t *testing.T) {
	const (
		begin = `spec.parentResource: the schema of "pages" in example.com/v1 has no `
		end   = ": the controller writes this, and the cluster drops it"
	)
	version := func(status string) string {
		return `{spec: {versions: [{name: v1beta1, schema: {openAPIV3Schema: {}}}, {name: v1, schema: {openAPIV3Schema: {properties: {spec: {}, ` + status + `}}}}]}}`
	}
	for name, test := range map[string]struct {
		definition string
		object     runtime.Object
		want       string
	}{
		"no status": {
			version("metadata: {}"), composed(), begin + "status, so the cluster drops all that hooks answer as status, and status.observedGeneration",
		},
		"no observedGeneration": {
			version("status: {properties: {replicas: {}}}"), composed(), begin + "status.observedGeneration" + end,
		},
		"all that is written":      {version("status: {properties: {observedGeneration: {}}}"), composed(), ""},
		"a status with all fields": {version("status: {x-kubernetes-preserve-unknown-fields: true}"), composed(rolling), ""},
		"a status with any names":  {version("status: {additionalProperties: {type: string}}"), composed(), ""},
		"no conditions, and no rolling method": {
			version("status: {properties: {observedGeneration: {}, conditions: {items: {properties: {}}}}}"), composed(), "",
		},
		"no conditions of a controller that rolls": {
			version("status: {properties: {observedGeneration: {}}}"), composed(rolling), begin + "status.conditions, which has the condition Updated" + end,
		},
		"conditions without a time": {
			version("status: {properties: {conditions: {items: {properties: {type: {}, status: {}, reason: {}, message: {}}}}}}"), composed(rolling),
			begin + "status.observedGeneration and no status.conditions[].lastTransitionTime" + end,
		},
		"no schema":                       {`{spec: {versions: [{name: v1}]}}`, composed(), ""},
		"no such version":                 {`{spec: {versions: [{name: v2, schema: {openAPIV3Schema: {}}}]}}`, composed(), ""},
		"a definition that keeps all":     {`{spec: {preserveUnknownFields: true, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}}`, composed(), ""},
		"no definition":                   {"", composed(), ""},
		"a decorator, which adds nothing": {version("metadata: {}"), decorated("pages"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{}
			if test.definition != "" {
				host.definitions = map[string]string{"pages.example.com": test.definition}
			}
			if got := host.asHost().lostFields(t.Context(), controllerOf(test.object)); got != test.want {
				t.Errorf("warning\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestNobodyIsWarnedOfASchemaThatCannotBeRead(t *testing.T) {
	if got := (&fakeHost{discoveryErr: errGone}).asHost().lostFields(t.Context(), controllerOf(composed())); got != "" {
		t.Errorf("warned of %q", got)
	}
}
