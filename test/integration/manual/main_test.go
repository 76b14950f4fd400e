// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manual follows the documentation and the READMEs of the examples, block by block, on a cluster
// whose one node runs no containers. It fails for each block that no test runs and that gives no reason why.
package manual

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.MainWithNode(m, func(e *harness.Env) { env = e }))
}
