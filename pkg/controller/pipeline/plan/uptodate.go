// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// UpToDate returns a function that tells whether nothing would be written to make an
// observed child what is desired of it, by the engine and the method of its type. What it
// finds so it remembers in settled.
func UpToDate(snapshot *pipeline.Snapshot, strategies Strategies, upToDate *UpToDateCache) func(observed, desired *object.Object) (bool, error) {
	parent := newParent(snapshot, childRules)
	return func(observed, desired *object.Object) (bool, error) {
		i := slices.IndexFunc(snapshot.Children, func(group pipeline.Group) bool {
			return group.Type.GroupVersionKind() == desired.GroupVersionKind()
		})
		if i < 0 {
			return false, fmt.Errorf("child %s is of no declared type", desired)
		}
		if upToDate.Is(observed.UID, desired.Hash, observed.Hash) {
			return true, nil
		}
		group := snapshot.Children[i]
		strategy := strategies[group.Type.GroupKind()]
		step, err := parent.engine(strategy.Engine, group.Schema).change(strategy.Method, observed, desired)
		if err != nil || step.Op != pipeline.Keep {
			return false, err
		}
		upToDate.Put(observed.UID, desired.Hash, observed.Hash)
		return true, nil
	}
}
