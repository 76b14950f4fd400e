// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// knownNoOp is the last answer about a parent that left nothing to write, with the hash of what its
// plan depended on else. As long as that stays, the same answer leaves nothing to write again,
// and need be neither read nor planned.
type knownNoOp struct {
	pipeline.NoOp
	inputs uint64
	known  bool
}

// matching returns the answer if what a plan depends on is as it was then, else nil.
func (r *knownNoOp) matching(inputs uint64) *pipeline.NoOp {
	if !r.known || r.inputs != inputs {
		return nil
	}
	return &r.NoOp
}

// remember notes how a plan went that was carried out; after is when a write is due that it was too early for.
func (r *knownNoOp) remember(inputs uint64, response *pipeline.Response, planned *pipeline.Plan, outcomes []pipeline.Outcome, after time.Duration) {
	if len(outcomes) == 0 && after == 0 && len(planned.Refused) == 0 && len(planned.Duplicates) == 0 {
		*r = knownNoOp{pipeline.NoOp{Answer: response.Hash, ResyncAfter: response.ResyncAfter}, inputs, true}
	}
}
