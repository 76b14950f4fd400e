// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest checks that a server at rest gets up for its controllers. The server must be built without cgo and
// without the race detector, because others never rest.
package rest

import (
	"fmt"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	// A server at rest uses one processor, so it must use more at work.
	if err := os.Setenv("GOMAXPROCS", "2"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
