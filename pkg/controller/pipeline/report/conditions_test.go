// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func said(health *Health, kind string) string {
	status := Status(v1alpha1.ControllerStatus{}, 1, health, nil)
	condition := meta.FindStatusCondition(status.Conditions, kind)
	if condition == nil {
		condition = &metav1.Condition{}
	}
	return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

func TestTheConditionParentsSynced(t *testing.T) {
	tests := map[string]struct {
		health *Health
		want   string
	}{
		"no controller runs":        {nil, "Unknown NotRunning: no controller runs"},
		"they are not counted yet":  {&Health{Uncounted: true}, "Unknown NotAllSyncedYet: some parents have not been synced yet"},
		"there are no parents":      {&Health{}, "True NoParents: there is no parent: no object of the type exists, or none that the controller selects"},
		"some are not synced yet":   {&Health{Total: 3, Synced: 2}, "Unknown NotAllSyncedYet: some parents have not been synced yet"},
		"all are synced":            {&Health{Total: 3, Synced: 3}, "True AllSynced: every parent is as its hook wants"},
		"some fail":                 {&Health{Total: 3, Failing: 2, Failure: &ParentError{Parent: shop, Message: "the hook crashed"}}, "False ParentsFailing: 2 of 3 parents are not as their hook wants; Web default/shop: the hook crashed"},
		"nobody knows why one does": {&Health{Total: 3, Failing: 1}, "False ParentsFailing: 1 of 3 parents are not as their hook wants"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(test.health, v1alpha1.ConditionParentsSynced); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheConditionFieldsKnown(t *testing.T) {
	misspelt := &ParentWarning{Parent: shop, Warning: pipeline.Warning{Reason: pipeline.UnknownField, Message: "the cluster drops spec.replica"}}
	tests := map[string]struct {
		health *Health
		want   string
	}{
		"no controller runs":   {nil, "Unknown NotRunning: no controller runs"},
		"nothing is dropped":   {&Health{}, "True AllKept: no field that a hook answers is dropped"},
		"one parent is warned": {&Health{Warned: 1, Warning: misspelt}, "False UnknownField: Web default/shop: the cluster drops spec.replica"},
		"several are":          {&Health{Warned: 3, Warning: misspelt}, "False UnknownField: Web default/shop: the cluster drops spec.replica (2 more parents are warned of something)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(test.health, v1alpha1.ConditionFieldsKnown); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}
