// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"maps"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Change is a field whose value changes.
type Change struct {
	// Path is the field, such as "spec.containers[name=web].image"; empty for a new object.
	Path string
	// From is the value before the change, To the value after it; nil if there is none.
	From, To any
}

// Conceal returns the content of an object without confidential values. Equal values must stay equal.
type Conceal func(content map[string]any) map[string]any

// OfStep returns the changes that a step makes, as far as the plan knows. A step that changes only the ownership of
// fields has none.
func OfStep(step *pipeline.Step, conceal Conceal) ([]Change, error) {
	body := step.Body
	if step.Successor != nil {
		var err error
		if body, err = step.Successor(); err != nil {
			return nil, err
		}
	}
	switch {
	case body == nil, step.Op == pipeline.ToServerSideApply, step.Op == pipeline.ToDynamicApply:
		return nil, nil
	}
	wanted, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("body of the step for %s: %w", step.Key(), err)
	}
	if step.Observed == nil {
		return created(conceal(wanted)), nil
	}
	have, err := step.Observed.Decode()
	if err != nil {
		return nil, err
	}
	switch {
	case step.Op == pipeline.Status:
		return between(onlyStatus(conceal(have)), onlyStatus(conceal(wanted))), nil
	case step.Op == pipeline.Adopt, step.Op == pipeline.Release:
		return between(onlyOwners(have), onlyOwners(wanted)), nil
	case step.Op == pipeline.Apply, step.Op == pipeline.Recreate && step.Successor == nil:
		if wanted, err = applied(step.Observed, have, wanted); err != nil {
			return nil, err
		}
	}
	return between(withoutStatus(conceal(have)), withoutStatus(conceal(wanted))), nil
}

// OfObject returns the changes between two states of an object; before is nil for a new object.
func OfObject(before, after map[string]any, conceal Conceal) []Change {
	if before == nil {
		return created(conceal(after))
	}
	return between(conceal(before), conceal(after))
}

// OfResult returns the changes that a step has made, given the object as the host has stored it.
func OfResult(step *pipeline.Step, result *object.Object, conceal Conceal) ([]Change, error) {
	after, err := result.Decode()
	if err != nil {
		return nil, err
	}
	if step.Observed == nil {
		return created(withoutStatus(conceal(after))), nil
	}
	before, err := step.Observed.Decode()
	if err != nil {
		return nil, err
	}
	if step.Op == pipeline.Status {
		return between(onlyStatus(conceal(before)), onlyStatus(conceal(after))), nil
	}
	return between(withoutStatus(conceal(before)), withoutStatus(conceal(after))), nil
}

func decode(raw []byte) (content map[string]any, err error) {
	err = utiljson.Unmarshal(raw, &content)
	return content, err
}

// created returns a new object as one change.
func created(content map[string]any) []Change {
	return []Change{{To: withoutRecord(withoutVersion(content))}}
}

// between returns the changes of an object. It leaves out the record of the last applied configuration unless nothing
// else changes.
func between(before, after map[string]any) []Change {
	before, after = withoutVersion(before), withoutVersion(after)
	if found := difference(withoutRecord(before), withoutRecord(after)); len(found) > 0 {
		return found
	}
	return difference(before, after)
}

// applied returns an estimate of an object after a configuration is applied to it: it removes the fields that were
// applied before and are no longer applied, and merges the configuration. Only the host knows whether others own a
// removed field, and how lists are merged.
func applied(observed *object.Object, have, configuration map[string]any) (map[string]any, error) {
	before, err := managedfields.Extract(observed.Applied, have)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", observed, err)
	}
	return merge(have, before, configuration).(map[string]any), nil
}

// merge returns have with the wanted fields, and without the fields that were applied before and are no longer wanted.
func merge(have, before, wanted any) any {
	merged, isObject := have.(map[string]any)
	fields, wantsObject := wanted.(map[string]any)
	if !isObject || !wantsObject {
		if list, ok := mergeNamed(have, before, wanted); ok {
			return list
		}
		return wanted
	}
	merged = maps.Clone(merged)
	earlier, _ := before.(map[string]any)
	for name := range earlier {
		if _, still := fields[name]; !still {
			delete(merged, name)
		}
	}
	for name, value := range fields {
		if had, there := merged[name]; there {
			value = merge(had, earlier[name], value)
		}
		merged[name] = value
	}
	return merged
}

// mergeNamed is merge for lists whose items have names.
func mergeNamed(have, before, wanted any) (merged []any, ok bool) {
	items, names, ok := named(have)
	changed, wantedNames, isNamed := named(wanted)
	if !ok || !isNamed {
		return nil, false
	}
	earlier, _, _ := named(before)
	for _, name := range names {
		_, was := earlier[name]
		now, is := changed[name]
		switch {
		case is:
			merged = append(merged, merge(items[name], earlier[name], now))
		case !was:
			merged = append(merged, items[name])
		}
	}
	for _, name := range wantedNames {
		if _, there := items[name]; !there {
			merged = append(merged, changed[name])
		}
	}
	return merged, true
}

// versions are the fields of metadata that change with each write, or that the host sets.
var versions = [...]string{"resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"}

func withoutVersion(content map[string]any) map[string]any {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	metadata = maps.Clone(metadata)
	for _, name := range versions {
		delete(metadata, name)
	}
	return with(content, "metadata", metadata)
}

// withoutRecord returns content without the annotation with the last applied configuration.
func withoutRecord(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, there := annotations[object.LastAppliedAnnotation]; !there {
		return content
	}
	annotations = maps.Clone(annotations)
	delete(annotations, object.LastAppliedAnnotation)
	if len(annotations) == 0 {
		metadata = maps.Clone(metadata)
		delete(metadata, "annotations")
		return with(content, "metadata", metadata)
	}
	return with(content, "metadata", with(metadata, "annotations", annotations))
}

func withoutStatus(content map[string]any) map[string]any {
	content = maps.Clone(content)
	delete(content, "status")
	return content
}

func onlyStatus(content map[string]any) map[string]any {
	return map[string]any{"status": content["status"]}
}

func onlyOwners(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	return map[string]any{"metadata": map[string]any{"ownerReferences": metadata["ownerReferences"]}}
}

// with returns content with a field set.
func with(content map[string]any, name string, value any) map[string]any {
	content = maps.Clone(content)
	content[name] = value
	return content
}
