// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
)

func scenarios() []*scenario {
	return []*scenario{
		compositeScenario(), adoptScenario(), finalizeScenario(), customizeScenario(), decoratorScenario(),
		rollingScenario(v1alpha1.ChildUpdateRollingRecreate), rollingScenario(v1alpha1.ChildUpdateRollingInPlace), orphanScenario(),
	}
}

// noFaults is the name of the run that others are compared with.
const noFaults = "none"

func engines() []controller.ApplyStrategy {
	return []controller.ApplyStrategy{controller.DynamicApply, controller.ServerSideApply}
}

// Whatever fails, and whenever: in the end the host has what it has without faults, and on the way
// nothing happens that must not.
func TestFaults(t *testing.T) {
	for _, scenario := range scenarios() {
		t.Run(scenario.name, func(t *testing.T) {
			t.Parallel()
			for _, engine := range engines() {
				t.Run(string(engine), func(t *testing.T) {
					t.Parallel()
					var reference reference
					isPlayed := t.Run(noFaults, func(t *testing.T) {
						newRun(t, scenario, engine, pattern{}).play(&reference)
					})
					if isPlayed && !reference.isComplete {
						t.Fatalf("-run has to select the run %s too, which the others are compared with", noFaults)
					}
					if !reference.isComplete {
						return
					}
					for _, pattern := range patterns(scenario, engine, reference.writes) {
						t.Run(pattern.name, func(t *testing.T) {
							t.Parallel()
							newRun(t, scenario, engine, pattern).play(&reference)
						})
					}
				})
			}
		})
	}
}
