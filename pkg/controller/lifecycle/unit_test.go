// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Until no other shard runs with an earlier spec, the one that leads takes no finalizer off: the other would put it back.
func TestShardsThatLag(t *testing.T) {
	const generation = 2
	for name, test := range map[string]struct {
		shard, generation int
		problem           *report.Problem
		nobody            bool
		lags              bool
	}{
		"another one that runs the spec":                     {shard: 1, generation: generation},
		"another one that has not seen it":                   {shard: 1, generation: 1, lags: true},
		"another one that has not seen it, and does not run": {shard: 1, generation: 1, nobody: true},
		"another one that cannot run it":                     {shard: 1, generation: generation, problem: &report.Problem{Reason: report.ReasonTypesNotListed, Err: errors.New("no answer")}},
		"another one that still runs the one before":         {shard: 1, generation: generation, problem: &report.Problem{Reason: report.ReasonTypesNotListed, Err: errors.New("no answer"), RunningGeneration: 1}, lags: true},
		"itself": {shard: 0, generation: 1},
	} {
		t.Run(name, func(t *testing.T) {
			of := controllerOf("shop", pods)
			of.Generation = generation
			for index := range 2 {
				is := report.Status(v1alpha1.ControllerStatus{}, generation, nil, nil)
				if index == test.shard {
					is = report.Status(v1alpha1.ControllerStatus{}, int64(test.generation), nil, test.problem)
				}
				if index != test.shard || !test.nobody {
					is.Runner = &v1alpha1.Runner{Replica: "one"}
				}
				of.Status = report.WithShard(of.Status, object.ShardOf(index, 2), is)
			}
			if lags := othersLag(of, unit{"shop", object.ShardOf(0, 2)}); lags != test.lags {
				t.Errorf("others lag: %t, want %t", lags, test.lags)
			}
		})
	}
}
