// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"flag"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var (
	env    *harness.Env
	update = flag.Bool("update", false, "write what kubectl prints into testdata")
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
