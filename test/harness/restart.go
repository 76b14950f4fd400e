// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "testing"

// StopServer stops the server in an orderly way. No other test of the package may run.
func (e *Env) StopServer(t testing.TB) {
	t.Helper()
	if err := e.Server.Stop(); err != nil {
		t.Fatal(err)
	}
}

// KillServer ends the server as a crash does. No other test of the package may run.
func (e *Env) KillServer(t testing.TB) {
	t.Helper()
	if err := e.Server.Kill(); err != nil {
		t.Fatal(err)
	}
}

// StartServer starts the server again.
func (e *Env) StartServer(t testing.TB) {
	t.Helper()
	if err := e.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
