// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// ConditionType is the type of the condition in a parent's status that shows how far its
// rollout is. The condition is true when all children are at the latest revision.
const ConditionType = "Updated"

// The reasons of the condition.
const (
	rolloutProgressing = "RolloutProgressing"
	rolloutWaiting     = "RolloutWaiting"
	onLatestRevision   = "OnLatestRevision"
)

func updated(reason, message string) metav1.Condition {
	condition := metav1.Condition{Type: ConditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if reason == onLatestRevision {
		condition.Status = metav1.ConditionTrue
	}
	return condition
}

// lastTransition returns the time of the condition's last change: the time in the parent's status if the
// condition has the same status there, otherwise the time of the first sync that decided so.
//
// The schema of the parent may drop the time, or all conditions. A time that is not stored must not change the status
// with every sync. So the result is zero if the parent's condition has the same status and no time.
func (r *Rollout) lastTransition(condition metav1.Condition, now time.Time) metav1.Time {
	if c := r.cache; c.status != condition.Status {
		c.status, c.since = condition.Status, metav1.NewTime(now)
	}
	before := findCondition(r.snapshot.Parent.Lookup("status", "conditions"), condition.Type)
	if textOf(before, "status") != string(condition.Status) {
		return r.cache.since
	}
	if object.Lookup(before, "lastTransitionTime") == nil {
		return metav1.Time{}
	}
	if at, err := time.Parse(time.RFC3339, textOf(before, "lastTransitionTime")); err == nil {
		return metav1.NewTime(at)
	}
	return r.cache.since
}

// withCondition adds the condition to the status of the hook's answer, in the place of one of the same type. If the
// answer has no status, the result has only the condition, or is nil if the parent's status has another writer.
func (r *Rollout) withCondition(status []byte, condition metav1.Condition) ([]byte, error) {
	if status == nil {
		if r.snapshot.ForeignStatus {
			return nil, nil
		}
		status = []byte("{}")
	}
	ours, err := json.Marshal(condition)
	if err == nil && condition.LastTransitionTime.IsZero() {
		ours, err = object.WithMember(ours, "lastTransitionTime", nil)
	}
	if err != nil {
		return nil, err
	}
	var conditions [][]byte
	replaced := false
	if answered := object.Lookup(status, "conditions"); answered != nil {
		err := object.Elements(answered, func(_ int, theirs []byte) error {
			switch {
			case textOf(theirs, "type") != condition.Type:
				conditions = append(conditions, theirs)
			case !replaced:
				conditions, replaced = append(conditions, ours), true
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf(
				"status.conditions of the hook's answer about %s must be a list, to hold the condition %s: %w",
				r.snapshot.Parent, condition.Type, err)
		}
	}
	if !replaced {
		conditions = append(conditions, ours)
	}
	list := slices.Concat([]byte("["), bytes.Join(conditions, []byte(",")), []byte("]"))
	return object.WithMember(status, "conditions", list)
}

// findCondition returns the first condition of a type, nil if there is none.
func findCondition(conditions []byte, conditionType string) []byte {
	var found []byte
	_ = object.Elements(conditions, func(_ int, condition []byte) error {
		if found == nil && textOf(condition, "type") == conditionType {
			found = condition
		}
		return nil
	})
	return found
}

// textOf returns the string in a member of a JSON object, empty if there is none.
func textOf(raw []byte, name string) string {
	var text string
	if json.Unmarshal(object.Lookup(raw, name), &text) != nil {
		return ""
	}
	return text
}

// conditionSample is a status with all fields of the condition.
const conditionSample = `{"status":{"conditions":[` +
	`{"type":"Updated","status":"True","reason":"","message":"","lastTransitionTime":""}]}}`

// conditionWarnings warns that the host drops the condition, or fields of it, that the schema of the parent does not
// have. The condition does not come from the hook, so the author of the hook may not know of it.
func (r *Rollout) conditionWarnings() []pipeline.Warning {
	cached := &r.cache.conditionWarnings
	if cached.schema == r.snapshot.ParentSchema {
		return cached.warnings
	}
	var warnings []pipeline.Warning
	for _, field := range r.snapshot.ParentSchema.UnknownFields([]byte(conditionSample)) {
		consequence := "so the condition " + ConditionType + " does not show how far a rollout is"
		if _, inCondition, found := strings.Cut(field.Path, "]."); found {
			consequence = fmt.Sprintf(
				"so the condition %s, which shows how far a rollout is, has no %s", ConditionType, inCondition)
		}
		warnings = append(warnings, pipeline.UnknownFieldWarning(r.snapshot.ParentType.GroupKind(), field.Path, fmt.Sprintf(
			"%s: the cluster does not know the field %s and drops it, %s; add it to the schema in the CustomResourceDefinition",
			r.snapshot.Parent, openapi.WithoutIndexes(field.Path), consequence)))
	}
	cached.schema, cached.warnings = r.snapshot.ParentSchema, warnings
	return warnings
}
