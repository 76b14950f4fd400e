// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examples plays the examples of artifacts/examples as their READMEs describe them, except
// HelloWorld, which the demo plays. The host cluster has no nodes and no controller of
// StatefulSets; the tests do their work.
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
