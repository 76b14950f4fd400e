// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examples plays examples of artifacts/examples beyond what their READMEs show, which
// test/integration/manual follows: with hooks of both versions, with servers that are killed, with mistakes.
// The host cluster has no nodes and no controller of StatefulSets; the tests do their work.
package examples

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
