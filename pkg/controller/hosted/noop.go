// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// knownNoOp is the last response about a parent that left nothing to write, with the hash of the
// other inputs of its plan. While these inputs stay, the same response leaves nothing to write
// again. It is then neither decoded nor planned.
type knownNoOp struct {
	pipeline.NoOp
	planInputs uint64
	known      bool
}

// matching returns the response if the inputs of a plan are the same as when it was remembered,
// else nil.
func (r *knownNoOp) matching(planInputs uint64) *pipeline.NoOp {
	if !r.known || r.planInputs != planInputs {
		return nil
	}
	return &r.NoOp
}

// remember keeps a response if its plan left nothing to write: no step was taken and none is
// postponed (after is zero), and no child was refused.
func (r *knownNoOp) remember(planInputs uint64, response *pipeline.Response, planned *pipeline.Plan, outcomes []pipeline.Outcome, after time.Duration) {
	if len(outcomes) == 0 && after == 0 && len(planned.Refused) == 0 {
		*r = knownNoOp{pipeline.NoOp{Answer: response.Hash, ResyncAfter: response.ResyncAfter}, planInputs, true}
	}
}
