// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load tests what becomes of the rest when there is much of something: slow answers, children, bytes,
// controllers. Counts are exact; times are bounded so that only what grows out of hand exceeds them, also on a machine
// that is several times as slow, and are logged.
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
