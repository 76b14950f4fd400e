// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// conditionSample has the fields of the condition as they are in a status.
const conditionSample = `{"status":{"conditions":[{"type":"Updated","status":"True","reason":"","message":"","lastTransitionTime":""}]}}`

// conditionWarnings returns the warnings that the host drops the condition, or fields of it, because the
// schema of the parent does not have them. The condition does not come from the hook, so its author may
// not know of it.
func (r *Rollout) conditionWarnings() []pipeline.Warning {
	cached := &r.cache.conditionWarnings
	if cached.schema == r.snapshot.ParentSchema {
		return cached.warnings
	}
	var warnings []pipeline.Warning
	for _, field := range r.snapshot.ParentSchema.UnknownFields([]byte(conditionSample)) {
		consequence := "so the condition " + ConditionType + " does not show how far a rollout is"
		if _, inCondition, found := strings.Cut(field.Path, "]."); found {
			consequence = fmt.Sprintf("so the condition %s, which shows how far a rollout is, has no %s", ConditionType, inCondition)
		}
		warnings = append(warnings, pipeline.UnknownFieldWarning(r.snapshot.ParentType.GroupKind(), field.Path, fmt.Sprintf(
			"%s: the cluster does not know the field %s and drops it, %s; add it to the schema in the CustomResourceDefinition",
			r.snapshot.Parent, openapi.WithoutIndexes(field.Path), consequence)))
	}
	cached.schema, cached.warnings = r.snapshot.ParentSchema, warnings
	return warnings
}
