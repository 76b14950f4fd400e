// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"flag"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var (
	env    *harness.Env
	update = flag.Bool("update", false, "write what kubectl shows into testdata and docs/mistakes.md")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
