// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decorator tests DecoratorControllers as users see them in a real cluster: which targets
// are selected, what is written to them and their attachments, finalizers, and decorators beside
// composites and other writers. What Metacontroller's own tests check is in test/conformance.
package decorator

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}
