// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flags tests the flags that Metacontroller has too, with a server that runs with them.
package flags

import (
	"fmt"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

var (
	env            *harness.Env
	metricsAddress string
)

func TestMain(m *testing.M) {
	port, err := process.FreePort()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	metricsAddress = fmt.Sprintf("127.0.0.1:%d", port)
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e },
		"--target-label-selector=run=here", "--cache-flush-interval=1s", "--discovery-interval=1s",
		"--client-go-qps=500", "--client-go-burst=500", "--metrics-address="+metricsAddress,
		"--apply-strategy=server-side-apply", "--apply-strategy-ssa-field-manager=flagged"))
}
