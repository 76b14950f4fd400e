// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
)

// Outcome is what came of a sync, in the words of what is expected: decoded JSON by the fields of Expected. Each step is an
// object with all that may be expected of it.
type Outcome struct {
	fields map[string]any
}

// newOutcome returns what came of a sync.
func newOutcome(sync *v1alpha1.ReviewedSync) (*Outcome, error) {
	fields := map[string]any{"result": sync.Result}
	add := func(name string, value any, there bool) {
		if there {
			fields[name] = value
		}
	}
	add("error", sync.Error, sync.Error != "")
	add("refused", sync.Refused, len(sync.Refused) > 0)
	add("events", sync.Events, len(sync.Events) > 0)
	add("warnings", sync.Warnings, len(sync.Warnings) > 0)
	add("resyncAfter", sync.ResyncAfter, sync.ResyncAfter != "")
	add("rollout", rolloutOf(sync), sync.Rollout != nil)
	steps := []any{}
	for i := range sync.Steps {
		steps = append(steps, stepOf(sync, &sync.Steps[i]))
	}
	fields["steps"] = steps
	if err := addAnswers(fields, sync); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	came := &Outcome{}
	return came, utiljson.Unmarshal(raw, &came.fields)
}

// addAnswers adds what the hooks have answered about the parent as it is.
func addAnswers(fields map[string]any, sync *v1alpha1.ReviewedSync) error {
	for _, call := range sync.Calls {
		if call.Response == nil || call.Revision != "" {
			continue
		}
		var answer map[string]any
		if err := utiljson.Unmarshal(call.Response.Raw, &answer); err != nil {
			return fmt.Errorf("answer of the %s hook: %w", call.Hook, err)
		}
		for name, value := range answer {
			switch name {
			case "relatedResources":
				fields["related"] = value
			case "attachments":
				fields["children"] = value
			case "children", "status", "labels", "annotations", "finalized":
				fields[name] = value
			}
		}
	}
	return nil
}

// stepOf returns a step with all that may be expected of it.
func stepOf(sync *v1alpha1.ReviewedSync, step *v1alpha1.ReviewedStep) map[string]any {
	fields := map[string]any{"step": nameOf(sync, step), "why": step.Why}
	changes := map[string]any{}
	for _, change := range step.Changes {
		if change.Path == "" {
			fields["object"] = change.To
			continue
		}
		both := map[string]any{}
		if change.From != nil {
			both["from"] = change.From
		}
		if change.To != nil {
			both["to"] = change.To
		}
		changes[change.Path] = both
	}
	if len(changes) > 0 {
		fields["changes"] = changes
	}
	if step.Postponed {
		fields["postponed"] = true
	}
	return fields
}

// nameOf returns a step as text. The name of a ControllerRevision is left out: it is a hash.
func nameOf(sync *v1alpha1.ReviewedSync, step *v1alpha1.ReviewedStep) string {
	text := printing.Step(&sync.Parent, step)
	if step.Kind == "ControllerRevision" {
		text = strings.TrimSuffix(text, " "+step.Name)
	}
	return text
}

// rolloutOf returns how far a rolling update is.
func rolloutOf(sync *v1alpha1.ReviewedSync) any {
	if sync.Rollout == nil {
		return nil
	}
	fields := map[string]any{"reason": sync.Rollout.Reason, "message": sync.Rollout.Message}
	for name, objects := range map[string][]v1alpha1.ReviewedObject{"moves": sync.Rollout.Moves, "behind": sync.Rollout.Behind} {
		var names []string
		for _, object := range objects {
			names = append(names, printing.Child(&sync.Parent, object))
		}
		if len(names) > 0 {
			fields[name] = names
		}
	}
	return fields
}
