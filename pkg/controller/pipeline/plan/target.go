// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// target plans the writes of a decorator's target.
type target struct {
	*parent
	upToDate *UpToDateCache
	// finalized is true if the finalizer is removed from the target.
	finalized bool
}

// steps returns the writes that give the target the labels, annotations and status of the answer: at most one
// of the status subresource, if there is one, and one of the object.
func (t *target) steps(snapshot *pipeline.Snapshot, response *pipeline.Response) ([]pipeline.Step, error) {
	status, err := t.statusAnswered(response)
	if err != nil {
		return nil, err
	}
	var steps []pipeline.Step
	if status != nil && t.parentType.StatusSubresource {
		steps, status = append(steps, *status), nil
	}
	change := metadataChangeOf(t.Object, response)
	differs := status != nil || !change.isEmpty()
	if !differs && !t.finalized {
		return steps, nil
	}
	desired, err := hashDesiredTarget(response, status)
	if err != nil {
		return nil, err
	}
	if !t.finalized && t.upToDate.isTargetUpToDate(t.UID, desired, hashTarget(t.parentType, t.Object)) {
		return steps, nil
	}
	write, err := t.write(snapshot, response, change, status)
	if err != nil {
		return nil, err
	}
	write.Desired = desired
	return append(steps, *write), nil
}

// statusAnswered returns the step that gives the target the status of the answer; nil if the target has it
// already, or the answer has none.
func (t *target) statusAnswered(response *pipeline.Response) (*pipeline.Step, error) {
	desired, err := decodeStatus(response.Status)
	if err != nil {
		return nil, fmt.Errorf("status of %s: %w", t, err)
	}
	if desired == nil {
		return nil, nil
	}
	return t.statusStep(desired, t.upToDate)
}

// write returns the step that updates the target: it makes the change, writes the status if that is not nil,
// and removes the finalizer if the target is finalized.
//
// A target that is not being deleted keeps the finalizer until its attachments are written. Otherwise an attachment
// that could not be deleted could be left behind. A target that is being deleted loses it at once: the host deletes the
// attachments with it, and in a terminating namespace some writes cannot succeed.
func (t *target) write(
	snapshot *pipeline.Snapshot, response *pipeline.Response, change metadataChange, status *pipeline.Step,
) (*pipeline.Step, error) {
	step := &pipeline.Step{
		Op: pipeline.Metadata, Type: t.parentType, Observed: t.Object,
		Namespace: t.Namespace, Name: t.Name, Path: change.path(),
		Rebase: func(current *object.Object) ([]byte, error) { return t.body(current, snapshot, response, status) },
	}
	if status != nil {
		step.Path = status.Path
	}
	step.Why = "it differs at " + step.Path
	if t.finalized {
		step.Why, step.RemovesFinalizer = whyFinalized, t.DeletionTimestamp != nil
		if !step.RemovesFinalizer {
			step.Op = pipeline.Finalizer
		}
	}
	var err error
	step.Body, err = step.Rebase(t.Object)
	return step, err
}

// body returns the JSON that write sends when the target now looks like current; nil if nothing has to change.
func (t *target) body(
	current *object.Object, snapshot *pipeline.Snapshot, response *pipeline.Response, status *pipeline.Step,
) ([]byte, error) {
	var body []byte
	var err error
	if status != nil {
		if body, err = status.Rebase(current); err != nil {
			return nil, err
		}
	}
	change, finalizers := metadataChangeOf(current, response), current.Finalizers
	if t.finalized {
		finalizers = without(finalizers, snapshot.Finalizer)
	}
	if body == nil && change.isEmpty() && len(finalizers) == len(current.Finalizers) {
		return nil, nil
	}
	if body == nil {
		if body, err = withoutNullStatus(current); err != nil {
			return nil, err
		}
	}
	metadata, err := change.apply(current.Lookup("metadata"))
	if err != nil {
		return nil, err
	}
	if t.finalized {
		if metadata, err = withFinalizers(metadata, finalizers); err != nil {
			return nil, err
		}
	}
	return object.WithMember(body, "metadata", metadata)
}

// withoutNullStatus returns the JSON of a target, without a status that is null. Metacontroller may have left
// one behind, and many types do not allow it.
func withoutNullStatus(target *object.Object) ([]byte, error) {
	if string(target.Lookup("status")) != "null" {
		return target.JSON(), nil
	}
	return object.WithMember(target.JSON(), "status", nil)
}

// metadataChange has the labels and annotations of a target that must change, with their new values. A nil
// value removes the label or annotation.
type metadataChange struct{ labels, annotations map[string]*string }

// metadataChangeOf returns the differences between the hook's answer and a target.
func metadataChangeOf(target *object.Object, response *pipeline.Response) metadataChange {
	label := func(name string) (value string, there bool) {
		value, there = target.Labels[name]
		return value, there
	}
	return metadataChange{
		labels:      differing(label, response.Labels),
		annotations: differing(target.Annotation, response.Annotations),
	}
}

func (c metadataChange) isEmpty() bool { return len(c.labels) == 0 && len(c.annotations) == 0 }

// path returns the first field that differs; empty if none does.
func (c metadataChange) path() string {
	switch {
	case len(c.labels) > 0:
		return "metadata.labels[" + firstName(c.labels) + "]"
	case len(c.annotations) > 0:
		return "metadata.annotations[" + firstName(c.annotations) + "]"
	default:
		return ""
	}
}

// differing returns the wanted labels or annotations that the target has with other values, or not at all. A nil
// value means that the target must not have the label or annotation.
func differing(have func(name string) (value string, there bool), wanted map[string]*string) map[string]*string {
	var differing map[string]*string
	for name, want := range wanted {
		value, there := have(name)
		if there == (want != nil) && (want == nil || value == *want) {
			continue
		}
		if differing == nil {
			differing = map[string]*string{}
		}
		differing[name] = want
	}
	return differing
}

func firstName(changes map[string]*string) string {
	return slices.Min(slices.Collect(maps.Keys(changes)))
}

// apply returns the JSON of metadata with the change made. All else stays the same byte for byte.
func (c metadataChange) apply(metadata []byte) ([]byte, error) {
	metadata, err := withStrings(metadata, "labels", c.labels)
	if err != nil {
		return nil, err
	}
	return withStrings(metadata, "annotations", c.annotations)
}

// withStrings returns the JSON of an object with the strings in one of its fields changed.
func withStrings(of []byte, field string, changes map[string]*string) ([]byte, error) {
	if len(changes) == 0 {
		return of, nil
	}
	values := object.Lookup(of, field)
	if values == nil || string(values) == "null" {
		values = []byte(`{}`)
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		var value []byte
		var err error
		if text := changes[name]; text != nil {
			if value, err = json.Marshal(*text); err != nil {
				return nil, err
			}
		}
		if values, err = object.WithMember(values, name, value); err != nil {
			return nil, err
		}
	}
	return object.WithMember(of, field, values)
}

// hashDesiredTarget returns the hash of the labels and annotations that the hook wants on a target, and of the
// status if the same request writes it.
func hashDesiredTarget(response *pipeline.Response, status *pipeline.Step) (uint64, error) {
	wanted, err := json.Marshal([...]map[string]*string{response.Labels, response.Annotations})
	if err != nil {
		return 0, err
	}
	if status != nil {
		wanted = strconv.AppendUint(wanted, status.Desired, 10)
	}
	return xxhash.Sum64(wanted), nil
}

// hashTarget returns the hash of the same parts of an existing target.
func hashTarget(of object.Type, o *object.Object) uint64 {
	hash := xxhash.New()
	add := func(value []byte) {
		_, _ = hash.Write(value)
		_, _ = hash.Write([]byte{0})
	}
	add(o.Lookup("metadata", "labels"))
	add(o.Lookup("metadata", "annotations"))
	if !of.StatusSubresource {
		add(o.Lookup("status"))
	}
	return hash.Sum64()
}
