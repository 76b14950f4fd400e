// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// status adds the step that gives the parent the status in the hook's answer, with status.observedGeneration set. If
// the answer has no status, this field is the entire status. A status with another writer is left alone if the answer
// has none, or if the type has no status subresource. Otherwise it keeps the fields that the answer does not have.
func (p *parent) status(plan *pipeline.Plan, answered []byte, upToDate *UpToDateCache) error {
	if p.foreignStatus && (answered == nil || !p.parentType.StatusSubresource) {
		return nil
	}
	desired, err := decodeStatus(answered)
	if err != nil {
		return fmt.Errorf("status of %s: %w", p, err)
	}
	if desired == nil {
		desired = map[string]any{}
	}
	desired["observedGeneration"] = p.Generation
	step, err := p.statusStep(desired, upToDate)
	if step == nil || err != nil {
		return err
	}
	plan.Steps = append(plan.Steps, *step)
	return nil
}

// statusStep returns the step that gives the parent the desired status; nil if the parent has it already.
// An empty status differs from a missing one: it shows hooks that they have been called before.
func (p *parent) statusStep(desired map[string]any, upToDate *UpToDateCache) (*pipeline.Step, error) {
	wanted, err := object.Canonical(desired)
	if err != nil {
		return nil, err
	}
	have := p.Lookup("status")
	hash := xxhash.Sum64(wanted)
	p.warnOfStatus(upToDate, hash, wanted)
	if upToDate.Is(p.UID, hash, xxhash.Sum64(have)) {
		return nil, nil
	}
	written, path, differ, err := p.changeOfStatus(have, desired, wanted)
	if err != nil {
		return nil, err
	}
	if !differ {
		upToDate.Put(p.UID, hash, xxhash.Sum64(have))
		return nil, nil
	}
	body, err := object.WithMember(p.JSON(), "status", written)
	return &pipeline.Step{
		Op: pipeline.Status, Type: p.parentType, Observed: p.Object, Namespace: p.Namespace, Name: p.Name,
		Body: body, Desired: hash, Path: path, Why: "it differs at " + path,
		Rebase: func(current *object.Object) ([]byte, error) {
			written, _, differ, err := p.changeOfStatus(current.Lookup("status"), desired, wanted)
			if !differ || err != nil {
				return nil, err
			}
			return object.WithMember(current.JSON(), "status", written)
		},
	}, err
}

// changeOfStatus returns the status to write when the parent has one status and the hook wants another, which wanted
// has as JSON. It also returns the path of the first field that differs, and whether any does.
func (p *parent) changeOfStatus(
	have []byte, desired map[string]any, wanted []byte,
) (written []byte, path string, differ bool, err error) {
	var own map[string]any
	if p.foreignStatus {
		own, _ = decodeStatus(have) // a status that cannot be decoded is replaced
	}
	if own == nil {
		path, differ = differenceOfStatus(have, desired)
		return wanted, path, differ, nil
	}
	kept := p.withFieldsOfOthers(own, desired)
	if path, differ = differenceOfStatus(have, kept); !differ {
		return nil, path, false, nil
	}
	written, err = object.Canonical(kept)
	return written, path, true, err
}

// withFieldsOfOthers returns the desired status with those fields of the existing one that the answer does not
// have, such as the phase of a Namespace. A null in the answer removes a field. Fields that the host would drop
// are left out.
func (p *parent) withFieldsOfOthers(status, desired map[string]any) map[string]any {
	schema := p.schema.Field("status")
	for name, value := range desired {
		switch {
		case value == nil:
			delete(status, name)
		case status[name] != nil || !schema.Drops(name, value):
			status[name] = value
		}
	}
	return status
}

// differenceOfStatus returns the path of the first field in which a status differs from the desired one, and
// whether there is such a field. A status that is not an object always differs.
func differenceOfStatus(have []byte, desired map[string]any) (path string, differ bool) {
	observed, err := decodeStatus(have)
	path, differ = difference(observed, desired)
	return join("status", path), differ || observed == nil || err != nil
}

func decodeStatus(raw []byte) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	var status map[string]any
	if err := utiljson.Unmarshal(raw, &status); err != nil {
		return nil, err
	}
	return status, nil
}

// whyFinalized is the reason for removing the finalizer once the finalize hook is done.
const whyFinalized = "the finalize hook has nothing left to do"

// FinalizerStep returns the step that adds the controller's finalizer to the parent, or removes it, before
// a hook is called. It returns nil if nothing has to change.
func FinalizerStep(snapshot *pipeline.Snapshot) (*pipeline.Step, error) {
	switch {
	case hasFinalizer(snapshot) == snapshot.NeedsFinalizer:
		return nil, nil
	case snapshot.NeedsFinalizer:
		const why = "the finalize hook must be called before the parent is deleted"
		return setFinalizers(snapshot, why, func(current *object.Object) []string {
			if current.DeletionTimestamp != nil { // the host refuses new finalizers
				return current.Finalizers
			}
			return append(without(current.Finalizers, snapshot.Finalizer), snapshot.Finalizer)
		})
	case snapshot.Outside:
		return RemoveFinalizerStep(snapshot, pipeline.OutsideNamespaces)
	default:
		return RemoveFinalizerStep(snapshot, pipeline.NoFinalizeHook)
	}
}

// RemoveFinalizerStep returns the step that removes the controller's finalizer from the parent. It
// returns nil if the finalizer is not on the parent.
func RemoveFinalizerStep(snapshot *pipeline.Snapshot, why pipeline.UnfinalizedReason) (*pipeline.Step, error) {
	if !hasFinalizer(snapshot) {
		return nil, nil
	}
	return setFinalizers(snapshot, string(why), func(current *object.Object) []string {
		return without(current.Finalizers, snapshot.Finalizer)
	})
}

// addRemoveFinalizerStep adds the step that removes the finalizer because the finalize hook is done.
func addRemoveFinalizerStep(plan *pipeline.Plan, snapshot *pipeline.Snapshot) error {
	step, err := RemoveFinalizerStep(snapshot, whyFinalized)
	if err != nil {
		return err
	}
	step.AnyGeneration = false
	plan.Steps = append(plan.Steps, *step)
	return nil
}

// isFinalized reports whether the finalize hook is done with a parent that still has the finalizer.
func isFinalized(snapshot *pipeline.Snapshot, response *pipeline.Response) bool {
	return snapshot.Finalizing && response.Finalized && hasFinalizer(snapshot)
}

// hasFinalizer reports whether the controller's finalizer is on the parent.
func hasFinalizer(snapshot *pipeline.Snapshot) bool {
	return slices.Contains(snapshot.Parent.Finalizers, snapshot.Finalizer)
}

func without(finalizers []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(other string) bool { return other == finalizer })
}

// setFinalizers returns the step that sets the parent's finalizers to those that change returns. The step does not
// depend on the answer of a hook.
func setFinalizers(
	snapshot *pipeline.Snapshot, why string, change func(current *object.Object) []string,
) (*pipeline.Step, error) {
	parent := snapshot.Parent
	step := &pipeline.Step{
		Op: pipeline.Finalizer, Type: snapshot.ParentType, Observed: parent,
		Namespace: parent.Namespace, Name: parent.Name, Path: "metadata.finalizers", Why: why, AnyGeneration: true,
		Rebase: func(current *object.Object) ([]byte, error) {
			finalizers := change(current)
			if slices.Equal(finalizers, current.Finalizers) {
				return nil, nil
			}
			metadata, err := withFinalizers(current.Lookup("metadata"), finalizers)
			if err != nil {
				return nil, err
			}
			return object.WithMember(current.JSON(), "metadata", metadata)
		},
	}
	var err error
	step.Body, err = step.Rebase(parent)
	return step, err
}

// withFinalizers returns the JSON of metadata with other finalizers. The caller updates the object and does
// not patch it, because Metacontroller updates parents, and its users have granted that right.
func withFinalizers(metadata []byte, finalizers []string) ([]byte, error) {
	list, err := json.Marshal(finalizers)
	if err != nil {
		return nil, err
	}
	return object.WithMember(metadata, "finalizers", list)
}
