// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Record is a ControllerRevision as it is stored, which nobody changes. What it remembers of its
// parent is read once, however many syncs need it.
type Record struct {
	*v1alpha1.ControllerRevision
	// patch returns its parentPatch in canonical form.
	patch func() ([]byte, error)
}

// NewRecord makes a record, which has read nothing yet.
func NewRecord(stored *v1alpha1.ControllerRevision) *Record {
	return &Record{stored, sync.OnceValues(func() ([]byte, error) { return canonicalPatch(stored) })}
}
