// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest checks that a sync ends the rest of a server. The server must be built without cgo and without the race
// detector, because other builds never rest.
package rest

import (
	"fmt"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	// At rest, the server uses one processor. At work it must use more, so that the tests can tell one from the other.
	if err := os.Setenv("GOMAXPROCS", "2"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
