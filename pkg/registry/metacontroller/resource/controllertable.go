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

// controllerRow holds what a table shows of a CompositeController or a DecoratorController.
type controllerRow struct {
	parents, children   []v1alpha1.ResourceRule
	sync                *v1alpha1.Hook
	resyncPeriodSeconds *int32
	status              *v1alpha1.ControllerStatus
}

// newControllerTable returns the table convertor of CompositeControllers or DecoratorControllers,
// which have the same columns.
func newControllerTable[O any](rowOf func(O) controllerRow) rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Parent", Type: "string", Description: "The resources of the parents."},
		{Name: "Ready", Type: "string", Description: "Whether the controller runs as its current spec says."},
		{Name: "Parents", Type: "string", Description: "Number of parents."},
		{Name: "Failing", Type: "string", Description: "Number of parents whose last sync failed."},
		{Name: "Warned", Type: "string", Description: "Number of parents with events about a probable mistake in the " +
			"answers of their hook or in the controller."},
	}
	wide := []metav1.TableColumnDefinition{
		{Name: "Children", Type: "string", Description: "The resources of the objects that the controller makes."},
		{Name: "Synced", Type: "string", Description: "Whether every parent is in its desired state."},
		{Name: "Outdated", Type: "string", Description: "Number of children that differ from what the hook wants and that " +
			"the update method OnDelete does not update. Under server-side apply, children that another client has changed " +
			"also count."},
		{Name: "Hook", Type: "string", Description: "The address of the sync hook."},
		{Name: "Reason", Type: "string", Description: "Reason why the controller is or is not ready, or of another problem."},
		{Name: "Resync", Type: "string", Description: "Interval at which every parent is " +
			"synced again, even if nothing changed."},
	}
	return newTable(columns, wide, func(object O) ([]any, []any) {
		row := rowOf(object)
		statusOf := func(kind string) string {
			if condition := meta.FindStatusCondition(row.status.Conditions, kind); condition != nil {
				return string(condition.Status)
			}
			return unknown
		}
		reason := cmp.Or(v1alpha1.WorstReason(row.status.Conditions), None)
		parents, failing, warned, outdated := None, None, None, None
		if counts := row.status.Parents; counts != nil {
			parents, failing, warned = fmt.Sprint(counts.Total), fmt.Sprint(counts.Failing), fmt.Sprint(counts.Warned)
		}
		if counts := row.status.Children; counts != nil {
			outdated = fmt.Sprint(counts.Outdated)
		}
		return []any{parentTypes(row.parents), statusOf(v1alpha1.ConditionReady), parents, failing, warned},
			[]any{
				resources(row.children), statusOf(v1alpha1.ConditionParentsSynced), outdated, address(row.sync), reason,
				period(row.resyncPeriodSeconds),
			}
	})
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

// address returns the address of a hook without what may be secret in it.
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
