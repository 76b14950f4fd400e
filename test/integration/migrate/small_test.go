// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
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

// A controller that is paused before the others run waits until it is told to go on.
func TestAControllerWaitsWhileTheOthersRun(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, hooks := newEstate(w, shapesOf(3))
	e.leave(parents)
	from, called := env.AuditEnd(t), len(hooks.Calls())
	w.migrate("switch")
	waiting := e.shapes[1].name
	env.Kubectl(t, "patch", "compositecontroller", waiting, "--type=merge", "-p", `{"spec":{"paused":true}}`)
	if said := w.migrate("run"); !strings.Contains(said, ", 1 changed here since, 0 different") {
		t.Error("it does not say that one was changed")
	}
	e.waitUntilSynced(hooks, called, (len(e.shapes)-1)*parents)
	env.Kubectl(t, "wait", "compositecontroller", waiting, "--for=condition=Paused", "--timeout=60s")
	e.waitUntilSynced(hooks, called, (len(e.shapes)-1)*parents)
	env.Kubectl(t, "patch", "compositecontroller", waiting, "--type=merge", "-p", `{"spec":{"paused":null}}`)
	e.waitUntilAllAreSynced(hooks, called, parents)
	e.expectNoChildWrites(from)
}
