// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import "testing"

// Everything is moved there and back, and there again, while rollouts are blocked. No child is written.
func TestThereAndBack(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, hooks := newEstate(w, shapesOf(8))
	e.leave(parents)
	w.installOriginal(1)
	before, from := e.census(), env.AuditEnd(t)
	called := len(hooks.Calls())
	w.migrate("check")
	w.migrate("switch")
	e.waitUntilAllAreSynced(hooks, called, parents)
	e.expectSurvived(before, "switch")
	w.migrate("back")
	e.expectSurvived(before, "back")
	w.migrate("switch")
	w.migrate("finish")
	e.expectSurvived(before, "finish")
	w.migrate("back")
	e.expectSurvived(before, "back after finish")
	e.expectNoChildWrites(from)
}
