// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examples plays the examples of artifacts/examples as their READMEs do. HelloWorld, which is not here, is what
// the demo plays. No nodes and no StatefulSets' controller are there: what they would do, the tests do.
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
