// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// None is the text of a cell without a value.
const None = "<none>"

const (
	unknown = "<unknown>"
	// maxListed bounds the resources that a cell names. It counts the others.
	maxListed = 3
)

// controllerRow has the values that a table shows of a CompositeController or a DecoratorController.
type controllerRow struct {
	created             metav1.Time
	parents, children   []v1alpha1.ResourceRule
	sync                *v1alpha1.Hook
	resyncPeriodSeconds *int32
	status              *v1alpha1.ControllerStatus
}

// newControllerTable returns the table convertor of CompositeControllers or DecoratorControllers,
// which have the same columns.
func newControllerTable[O metav1.Object](rowOf func(O) controllerRow) rest.TableConvertor {
	type column = Column[controllerRow]
	return NewTable(func(object O) controllerRow {
		row := rowOf(object)
		row.created = object.GetCreationTimestamp()
		return row
	},
		column{Name: "Parent", Description: "The resources of the parents.",
			Cell: func(row controllerRow) any { return parentTypes(row.parents) }},
		column{Name: "Ready", Description: "Whether the controller runs with its current spec.",
			Cell: conditionCell(v1alpha1.ConditionReady)},
		column{Name: "Parents", Description: "Number of parents.",
			Cell: parentsCell(func(counts *v1alpha1.ParentCounts) int32 { return counts.Total })},
		column{Name: "Failing", Description: "Number of parents whose last sync failed.",
			Cell: parentsCell(func(counts *v1alpha1.ParentCounts) int32 { return counts.Failing })},
		column{Name: "Warned", Description: "Number of parents with events about a probable mistake in the " +
			"answers of their hook or in the controller.",
			Cell: parentsCell(func(counts *v1alpha1.ParentCounts) int32 { return counts.Warned })},
		ageColumn(func(row controllerRow) metav1.Time { return row.created }),
		column{Name: "Children", Wide: true, Description: "The resources of the objects that the controller creates.",
			Cell: func(row controllerRow) any { return resources(row.children) }},
		column{Name: "Synced", Wide: true, Description: "Whether every parent is in its desired state.",
			Cell: conditionCell(v1alpha1.ConditionParentsSynced)},
		column{Name: "Outdated", Wide: true, Description: "Number of children that differ from the answer of the hook, and " +
			"that the server does not update because of the update method OnDelete. With server-side apply, this number " +
			"includes children that another client has changed.",
			Cell: outdated},
		column{Name: "Hook", Wide: true, Description: "The address of the sync hook.",
			Cell: func(row controllerRow) any { return address(row.sync) }},
		column{Name: "Reason", Wide: true,
			Description: "Reason why the controller is or is not ready, or of another problem.",
			Cell:        func(row controllerRow) any { return cmp.Or(v1alpha1.WorstReason(row.status.Conditions), None) }},
		column{Name: "Resync", Wide: true,
			Description: "Interval at which the server syncs every parent again, even if nothing has changed.",
			Cell:        func(row controllerRow) any { return period(row.resyncPeriodSeconds) }},
	)
}

func conditionCell(kind string) func(controllerRow) any {
	return func(row controllerRow) any {
		if condition := meta.FindStatusCondition(row.status.Conditions, kind); condition != nil {
			return string(condition.Status)
		}
		return unknown
	}
}

func parentsCell(count func(*v1alpha1.ParentCounts) int32) func(controllerRow) any {
	return func(row controllerRow) any {
		if counts := row.status.Parents; counts != nil {
			return fmt.Sprint(count(counts))
		}
		return None
	}
}

func outdated(row controllerRow) any {
	if counts := row.status.Children; counts != nil {
		return fmt.Sprint(counts.Outdated)
	}
	return None
}

// maxParentTypes is the maximum length, in bytes, of a list of parent types. It lets a row fit into 100 characters.
const maxParentTypes = 20

// parentTypes returns the names of resources without their groups, as many as are short enough, and counts the others.
func parentTypes(rules []v1alpha1.ResourceRule) string {
	if len(rules) == 0 {
		return None
	}
	names := rules[0].Resource
	for i, rule := range rules[1:] {
		if len(names)+len(",")+len(rule.Resource) > maxParentTypes {
			return names + fmt.Sprintf(",+%d", len(rules)-1-i)
		}
		names += "," + rule.Resource
	}
	return names
}

// resources returns the names of resources as kubectl get takes them.
func resources(rules []v1alpha1.ResourceRule) string {
	if len(rules) == 0 {
		return None
	}
	var names []string
	for _, rule := range rules[:min(len(rules), maxListed)] {
		names = append(names, rule.GroupResource().String())
	}
	if rest := len(rules) - maxListed; rest > 0 {
		names = append(names, fmt.Sprintf("+%d", rest))
	}
	return strings.Join(names, ",")
}

// address returns the address of a hook without parts that may be secret.
func address(hook *v1alpha1.Hook) string {
	switch {
	case hook == nil, hook.Webhook == nil && hook.Inline == nil:
		return None
	case hook.Webhook == nil:
		return "inline"
	}
	raw := hook.Webhook.Address().Raw()
	if raw == "" {
		return None
	}
	full, err := url.Parse(raw)
	if err != nil {
		return unknown
	}
	return hookaddress.WithoutSecrets(full)
}

func period(seconds *int32) string {
	if seconds == nil {
		return None
	}
	return fmt.Sprintf("%ds", max(*seconds, 1))
}
