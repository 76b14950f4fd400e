// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
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
	var used float64
	env.Eventually(t, func(context.Context) error {
		select {
		case used = <-duringCalls:
			return nil
		default:
			return errors.New("the hook was not called")
		}
	})
	if used != 2 {
		t.Errorf("the server uses %v processors while it calls the hook, want 2: the sync has not ended the rest", used)
	}
}

// processors returns how many processors the server uses.
func processors(ctx context.Context) (float64, error) {
	const metric = "go_sched_gomaxprocs_threads"
	families, err := env.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	series := families[metric].GetMetric()
	if len(series) != 1 {
		return 0, fmt.Errorf("the server shows the metric %s %d times, want once", metric, len(series))
	}
	return series[0].GetGauge().GetValue(), nil
}
