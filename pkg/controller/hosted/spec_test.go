// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

func TestAChildTypeThatNamesNoEngineHasThatOfTheProcess(t *testing.T) {
	pod, plain := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "ctl.example", Kind: "Plain"}
	spec := &Spec{
		Children: []object.Type{pods, {GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example"}, Kind: "Plain"}, {Kind: "Namespace"}},
		Strategies: plan.Strategies{
			pod:   {Method: plan.InPlace, Engine: plan.DynamicApply},
			plain: {Method: plan.Recreate},
		},
	}
	want := plan.Strategies{
		pod:                 {Method: plan.InPlace, Engine: plan.DynamicApply},
		plain:               {Method: plan.Recreate, Engine: plan.ServerSideApply},
		{Kind: "Namespace"}: {Engine: plan.ServerSideApply},
	}
	if diff := cmp.Diff(want, spec.strategiesWithEngine(plan.ServerSideApply)); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
}
