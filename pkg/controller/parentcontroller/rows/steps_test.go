// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestTheStepsOfFewParentsAreKept(t *testing.T) {
	log, now := &StepLog{}, time.Now()
	outcomes := slices.Repeat([]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create}, Err: errors.New("no")}}, maxStepsOfSync+5)
	for i := range maxSteps {
		log.add(web(fmt.Sprint(i)), outcomes, now)
	}
	log.add(web("nothing"), nil, now)
	kept := maxSteps / maxStepsOfSync
	if len(log.byParent) != kept || log.kept.Len() != kept || log.number != maxSteps {
		t.Errorf("%d steps of %d parents are kept", log.number, len(log.byParent))
	}
	last := web(fmt.Sprint(maxSteps - 1))
	if steps := log.of(last); steps == nil || len(steps.Steps) != maxStepsOfSync || steps.Omitted != 5 || steps.Steps[0].Error != "no" {
		t.Errorf("the last are %+v", steps)
	}
	if log.of(web("0")) != nil {
		t.Error("the first are kept")
	}
	log.add(last, outcomes[:1], now)
	log.Forget(web(fmt.Sprint(maxSteps - 2)))
	if want := maxSteps - 2*maxStepsOfSync + 1; log.number != want || len(log.of(last).Steps) != 1 {
		t.Errorf("%d steps are kept, want %d", log.number, want)
	}
}
