// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import "testing"

// The files are sessions at a terminal. One follows the other: they share the shop.
func TestCommands(t *testing.T) {
	session := newSession(t)
	for _, name := range []string{"help", "kubectl", "preview", "calls", "status", "rollout", "adopt", "inline"} {
		t.Run(name, func(t *testing.T) { session.Play(t, "testdata/"+name+".txt") })
	}
}
