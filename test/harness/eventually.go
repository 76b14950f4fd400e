// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// Eventually waits until check returns nil and fails the test with its last error if that takes more than two minutes.
func (e *Env) Eventually(t testing.TB, check func(context.Context) error) {
	t.Helper()
	e.Within(t, deadline, check)
}

// Within is Eventually with another deadline.
func (e *Env) Within(t testing.TB, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	if err := poll.Within(t.Context(), timeout, check); err != nil {
		t.Fatal(errors.Join(err, e.exited()))
	}
}

// exited returns an error if a process of the environment has ended: no condition can come true
// then.
func (e *Env) exited() error { return errors.Join(e.Host.Exited(), e.Server.Exited()) }
