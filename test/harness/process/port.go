// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort returns a TCP port of 127.0.0.1 that is free at this moment. It is below the range for
// outgoing connections, so only another server can take it first. The caller must try again with a
// new port when that happens.
func FreePort() (int, error) {
	const from, to, attempts = 12000, 32000, 100
	var lastErr error
	for range attempts {
		port := from + rand.IntN(to-from)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			lastErr = err
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("close the listener that tried port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 after %d attempts between %d and %d: %w", attempts, from, to, lastErr)
}
