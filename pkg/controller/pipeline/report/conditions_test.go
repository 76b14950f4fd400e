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
	crashed := &ParentError{Parent: shop, Message: "the hook crashed"}
	tests := map[string]struct {
		health *Health
		want   string
	}{
		"no controller runs":       {nil, "Unknown NotRunning: no controller runs"},
		"they are not counted yet": {&Health{Uncounted: true}, "Unknown NotAllSyncedYet: some parents have not been synced yet"},
		"there are no parents":     {&Health{}, "True NoParents: there is no parent: no object of the type exists, or none that the controller selects"},
		"some are not synced yet":  {&Health{Total: 3, Synced: 2}, "Unknown NotAllSyncedYet: some parents have not been synced yet"},
		"all are synced":           {&Health{Total: 3, Synced: 3}, "True AllSynced: every parent is as its hook wants"},
		"the only one fails":       {&Health{Total: 1, Failing: 1, Failure: crashed}, "False ParentsFailing: Web default/shop: the hook crashed"},
		"one of some fails":        {&Health{Total: 3, Failing: 1, Failure: crashed}, "False ParentsFailing: Web default/shop: the hook crashed (1 of 3 parents)"},
		"some fail":                {&Health{Total: 3, Failing: 2, Failure: crashed}, "False ParentsFailing: Web default/shop: the hook crashed (and 1 more of 3 parents)"},
		"the error names its parent": {
			&Health{Total: 1, Failing: 1, Failure: &ParentError{Parent: shop, Message: "Web default/shop: its status is refused"}},
			"False ParentsFailing: Web default/shop: its status is refused",
		},
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

func TestTheConditionsAboutWarnings(t *testing.T) {
	warning := func(reason pipeline.WarningReason, more int, message string) *ParentWarning {
		return &ParentWarning{Parent: shop, Warning: pipeline.Warning{Reason: reason, Message: message}, More: more}
	}
	const dropped, twice = "the cluster drops spec.replica", "the hook lists a twice"
	tests := map[string]struct {
		health           *Health
		fields, children string
	}{
		"no controller runs": {nil, "Unknown NotRunning: no controller runs", "Unknown NotRunning: no controller runs"},
		"all is well":        {&Health{}, "True AllKept: no field that a hook answers is dropped", "True NoneWarned: there is no warning about children"},
		"a field of one parent": {
			&Health{FieldWarning: warning(pipeline.UnknownField, 0, dropped)},
			"False UnknownField: Web default/shop: the cluster drops spec.replica", "True NoneWarned: there is no warning about children",
		},
		"a warning that names its parent": {
			&Health{FieldWarning: warning(pipeline.UnknownField, 0, "Web default/shop: "+dropped)},
			"False UnknownField: Web default/shop: the cluster drops spec.replica", "True NoneWarned: there is no warning about children",
		},
		"children of several": {
			&Health{ChildWarning: warning(pipeline.DuplicateChild, 2, twice)},
			"True AllKept: no field that a hook answers is dropped", "False DuplicateChild: Web default/shop: the hook lists a twice (and 2 more parents)",
		},
		"both": {
			&Health{FieldWarning: warning(pipeline.UnknownField, 1, dropped), ChildWarning: warning(pipeline.DuplicateChild, 0, twice)},
			"False UnknownField: Web default/shop: the cluster drops spec.replica (and 1 more parents)", "False DuplicateChild: Web default/shop: the hook lists a twice",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(test.health, v1alpha1.ConditionFieldsKnown); got != test.fields {
				t.Errorf("of fields it says %q, want %q", got, test.fields)
			}
			if got := said(test.health, v1alpha1.ConditionChildrenAsMeant); got != test.children {
				t.Errorf("of children it says %q, want %q", got, test.children)
			}
		})
	}
}
