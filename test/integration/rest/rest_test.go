// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

func TestASyncEndsARest(t *testing.T) {
	duringCalls := make(chan float64, 10)
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, func(ctx context.Context, _ hook.Call) hook.Answer {
		used, err := processors(ctx)
		if err != nil {
			return hook.Text(http.StatusInternalServerError, err.Error())
		}
		duringCalls <- used
		return hook.JSON(harness.Object{"status": harness.Object{}})
	}))
	f.RunComposite(f.CompositeSpec())
	env.Eventually(t, func(ctx context.Context) error {
		used, err := processors(ctx)
		if err == nil && used != 1 {
			err = fmt.Errorf("the server does not rest: it uses %v processors", used)
		}
		return err
	})
	f.CreateParent("a", nil)
	if used := <-duringCalls; used != 2 {
		t.Errorf("the hook is called with %v processors, although a rest has ended then", used)
	}
}

// processors returns how many processors the server uses.
func processors(ctx context.Context) (float64, error) {
	families, err := env.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, series := range families["go_sched_gomaxprocs_threads"].GetMetric() {
		return series.GetGauge().GetValue(), nil
	}
	return 0, fmt.Errorf("the server does not say how many processors it uses")
}
