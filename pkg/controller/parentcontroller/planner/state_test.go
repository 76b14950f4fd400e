// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"io"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Only a plan that leaves nothing to do is remembered.
func TestAPlanThatIsMadeAgain(t *testing.T) {
	tests := map[string]struct {
		planned  pipeline.Plan
		outcomes []pipeline.Outcome
		after    time.Duration
	}{
		"it wrote":            {outcomes: []pipeline.Outcome{{}}},
		"it will write later": {after: time.Second},
		"a child was refused": {planned: pipeline.Plan{Refused: []error{io.EOF}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r NoOp
			r.remember(1, &pipeline.Response{Hash: 2}, &pipeline.Plan{}, nil, 0)
			if known := r.matching(1); known == nil || known.Answer != 2 {
				t.Fatalf("of a plan that left nothing to do %v is known", known)
			}
			if known := r.matching(3); known != nil {
				t.Errorf("what the plan depends on has changed, but %v is known", known)
			}
			r = NoOp{}
			r.remember(1, &pipeline.Response{Hash: 2}, &test.planned, test.outcomes, test.after)
			if known := r.matching(1); known != nil {
				t.Errorf("%v is known", known)
			}
		})
	}
}
