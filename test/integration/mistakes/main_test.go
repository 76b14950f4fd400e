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
	update = flag.Bool("update", false, "write what kubectl shows into testdata")
)

// quick limits how many mistakes are made at once. Slow ones do not count: they would be the last to
// end.
var quick = make(chan struct{}, 16)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait. Those that are not slow take turns, see quick.
	if err := flag.Set("test.parallel", "1000"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
