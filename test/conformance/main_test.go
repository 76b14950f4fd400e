// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the server to what users of Metacontroller rely on: what its own tests and examples check,
// and what was decided about each of its quirks. The number of a quirk is in the names of its tests.
package conformance

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
