// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing tests --tracing-config-file with a collector: a trace leads from the event over the calls of hooks to
// each write.
package tracing

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var (
	env       *harness.Env
	collected *collector
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if collected, err = collect(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer collected.stop()
	dir, err := os.MkdirTemp("", "tracing-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "tracing.yaml")
	content := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", collected.address)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return harness.Main(m, func(e *harness.Env) { env = e }, "--tracing-config-file="+config)
}
