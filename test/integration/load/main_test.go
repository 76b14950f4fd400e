// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load tests large numbers and sizes: slow answers, thousands of children, children of a
// megabyte, hundreds of controllers. Counts of calls and writes are exact. Times are logged; their
// bounds leave room for a machine that is several times as slow, so that only what grows out of
// proportion exceeds them.
package load

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
