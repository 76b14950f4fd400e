// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the server to what users of Metacontroller rely on: what
// Metacontroller's own tests and examples check, and its quirks. docs/compatibility.md explains
// each quirk; its number is in the names of its tests. What this server does beyond Metacontroller
// is tested in test/integration.
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
