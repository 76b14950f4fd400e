// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// status adds the step that makes the parent's status what the hook answered, with
// status.observedGeneration added. Without an answered status this field is all of it. A foreign
// status is left alone if the hook answers none, or if the status is no subresource.
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

// statusStep returns the step that gives the parent the desired status; nil if the parent has it.
// An empty status differs from none: it shows hooks that they have been called before.
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
	path, differ := differenceOfStatus(have, desired)
	if !differ {
		upToDate.Put(p.UID, hash, xxhash.Sum64(have))
		return nil, nil
	}
	body, err := object.WithMember(p.JSON(), "status", wanted)
	return &pipeline.Step{
		Op: pipeline.Status, Type: p.parentType, Observed: p.Object, Namespace: p.Namespace, Name: p.Name,
		Body: body, Desired: hash, Path: path, Why: "it differs at " + path,
		Rebase: func(current *object.Object) ([]byte, error) {
			if _, differ := differenceOfStatus(current.Lookup("status"), desired); !differ {
				return nil, nil
			}
			return object.WithMember(current.JSON(), "status", wanted)
		},
	}, err
}

// differenceOfStatus returns the path of the first field in which a status is not the desired one,
// and whether there is such a field. A status that is no object differs.
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
