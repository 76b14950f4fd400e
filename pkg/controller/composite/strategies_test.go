// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
)

func TestAChildTypeThatNamesNoEngineHasThatOfTheProcess(t *testing.T) {
	spec, err := resolve(t, `{`+parentWebs+`, `+syncHook+`, childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace, apply: DynamicApply}},
		{apiVersion: ctl.example/v1, resource: plains, updateStrategy: {method: Recreate}}, {apiVersion: v1, resource: namespaces}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := plan.Strategies{
		schema.GroupKind{Kind: "Pod"}:                         {Method: plan.InPlace, Engine: plan.DynamicApply},
		schema.GroupKind{Group: "ctl.example", Kind: "Plain"}: {Method: plan.Recreate, Engine: plan.ServerSideApply},
		schema.GroupKind{Kind: "Namespace"}:                   {Engine: plan.ServerSideApply},
	}
	if diff := cmp.Diff(want, spec.strategies(plan.ServerSideApply)); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
}
