// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
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

// Controller holds what a table shows of a CompositeController or a DecoratorController.
type Controller struct {
	Parents, Children   []v1alpha1.ResourceRule
	Sync                *v1alpha1.Hook
	ResyncPeriodSeconds *int32
	Status              *v1alpha1.ControllerStatus
}

// NewControllerTable returns the table convertor of CompositeControllers or DecoratorControllers,
// which have the same columns.
func NewControllerTable[O any](controller func(O) Controller) rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Parent", Type: "string", Description: "The resources whose objects the controller is for."},
		{Name: "Children", Type: "string", Description: "The resources of the objects that the controller makes."},
		{Name: "Ready", Type: "string", Description: "Whether the controller runs as its current spec says."},
		{Name: "Synced", Type: "string", Description: "Whether every object that the controller is for is as its hook " +
			"wants."},
		{Name: "Parents", Type: "string", Description: "How many objects the controller is for."},
		{Name: "Failing", Type: "string", Description: "How many of these failed to sync the last time."},
		{Name: "Warned", Type: "string", Description: "How many of these have events that warn of a probable mistake in " +
			"the answers of their hook or in the controller."},
		{Name: "Outdated", Type: "string", Description: "How many children the hook wants otherwise than when they were " +
			"made, and are left alone by the update method OnDelete. Under server-side apply, children that somebody else " +
			"has changed count, too."},
	}
	wide := []metav1.TableColumnDefinition{
		{Name: "Hook", Type: "string", Description: "The address of the sync hook."},
		{Name: "Reason", Type: "string", Description: "Why the controller is ready or is not, or what else is wrong with " +
			"it."},
		{Name: "Resync", Type: "string", Description: "After how long every object is synced again though nothing changed."},
	}
	return NewTable(columns, wide, func(object O) ([]any, []any) {
		c := controller(object)
		ready, reason := unknown, None
		if condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); condition != nil {
			ready, reason = string(condition.Status), worstReason(c.Status.Conditions, condition.Reason)
		}
		synced := unknown
		if condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionParentsSynced); condition != nil {
			synced = string(condition.Status)
		}
		parents, failing, warned, outdated := unknown, unknown, unknown, unknown
		if counts := c.Status.Parents; counts != nil {
			parents, failing, warned = fmt.Sprint(counts.Total), fmt.Sprint(counts.Failing), fmt.Sprint(counts.Warned)
		}
		if counts := c.Status.Children; counts != nil {
			outdated = fmt.Sprint(counts.Outdated)
		}
		return []any{resources(c.Parents), resources(c.Children), ready, synced, parents, failing, warned, outdated},
			[]any{address(c.Sync), reason, period(c.ResyncPeriodSeconds)}
	})
}

// reasonChildrenDeleted is graver than what the condition ChildrenAsMeant may say, though it is about a
// field.
const reasonChildrenDeleted = "ChildrenDeleted"

// worstReason returns the reason of the most severe condition that is False. If no condition is False, it returns the
// reason of the condition Paused, or otherwise if the controller is not paused.
func worstReason(conditions []metav1.Condition, otherwise string) string {
	for _, kind := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionResourcesFound, v1alpha1.ConditionHooksReachable, v1alpha1.ConditionStable,
		v1alpha1.ConditionParentsSynced, v1alpha1.ConditionChildrenAsMeant, v1alpha1.ConditionFieldsKnown,
		v1alpha1.ConditionServiceAccountSet,
	} {
		condition := meta.FindStatusCondition(conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionFalse {
			continue
		}
		if kind == v1alpha1.ConditionChildrenAsMeant {
			if fields := meta.FindStatusCondition(conditions, v1alpha1.ConditionFieldsKnown); fields != nil &&
				fields.Reason == reasonChildrenDeleted {
				return fields.Reason
			}
		}
		return condition.Reason
	}
	if paused := meta.FindStatusCondition(conditions, v1alpha1.ConditionPaused); paused != nil &&
		paused.Status == metav1.ConditionTrue {
		return paused.Reason
	}
	return otherwise
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
	if hook == nil || hook.Webhook == nil {
		return None
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
