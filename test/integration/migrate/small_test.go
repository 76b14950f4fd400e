// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"
)

// The first syncs change nothing that Metacontroller's last syncs did not want, whatever the engine.
func TestTheFirstSyncsWriteNothing(t *testing.T) {
	const parents = 3
	for name, args := range map[string][]string{"dynamic apply": nil, "server-side apply": {"--apply-strategy=server-side-apply"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, args...)
			e, hooks := newEstate(w, shapesOf(8))
			e.serverSide = len(args) > 0
			e.leave(parents)
			from := env.AuditEnd(t)
			w.migrate("switch")
			e.expectNothingToWrite(w.migrate("verify"), len(e.shapes)*parents)
			called := len(hooks.Calls())
			w.migrate("run")
			e.waitUntilAllAreSynced(hooks, called, parents)
			e.expectNoChildWrites(from)
		})
	}
}
