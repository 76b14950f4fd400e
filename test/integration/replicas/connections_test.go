// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/load"
)

// Clients are asked again and again to open another connection, so that all replicas get requests. The host cannot repeat a request
// whose body it has passed on: none may be on its way when its connection is closed.
func TestNoRequestIsLostWhenClientsConnectAgain(t *testing.T) {
	f := newFleet(t, 1, "--goaway-chance=0.02") // the library takes no more
	clients := load.Start(t, env.Config)
	f.eventually(func(context.Context) error {
		if done, want := clients.Rounds(), 250; done < want { // with HTTP/2, six requests would fail
			return fmt.Errorf("%d of %d rounds", done, want)
		}
		return nil
	})
	clients.End()
}
