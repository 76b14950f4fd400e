// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package composite tests CompositeControllers as users see them in a real cluster: children,
// status, hooks, rolling updates, finalizers, and what becomes of all this when the server, a hook
// or the host fails. What Metacontroller's own tests check is in test/conformance.
package composite

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
