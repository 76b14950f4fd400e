// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"sync"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// script is a hook whose answers to finalize calls a test can change.
type script struct {
	t testing.TB

	mu       sync.Mutex
	finalize func(request) object
}

// scripted returns a script that answers syncs with the ConfigMap <parent> and the status synced:
// true, and finalize calls with finalize.
func scripted(t testing.TB, finalize func(request) object) *script {
	return &script{t: t, finalize: finalize}
}

func (s *script) handle(_ context.Context, call hook.Call) hook.Answer {
	var asked request
	if err := call.Decode(&asked); err != nil {
		s.t.Errorf("the hook was sent something that cannot be read: %v", err)
	}
	if asked.Finalizing != (call.Path == "/finalize") {
		s.t.Errorf("%s was called with finalizing: %v", call.Path, asked.Finalizing)
	}
	if !asked.Finalizing {
		return hook.JSON(object{"status": object{"synced": true}, "children": []object{hook.ConfigMap(asked.Parent.GetName(), object{})}})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return hook.JSON(s.finalize(asked))
}

// then changes the answer to finalize calls.
func (s *script) then(finalize func(request) object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finalize = finalize
}

// done answers finalized, with another child.
func done(asked request) object {
	return object{"finalized": true, "status": object{"phase": "done"}, "children": []object{hook.ConfigMap(asked.Parent.GetName()+"-late", object{})}}
}

// doneOnceTouched returns a hook that calls done if the parent has the annotation touched, and before otherwise. So a retry finalizes the parent only after the test has annotated it.
func doneOnceTouched(before func(request) object) func(request) object {
	return func(asked request) object {
		if !hasAnnotation("touched")(&asked.Parent) {
			return before(asked)
		}
		return done(asked)
	}
}

// replacing answers another child instead of the existing one.
func replacing(asked request) object {
	return object{"status": object{"phase": "finalizing"}, "children": []object{hook.ConfigMap(asked.Parent.GetName()+"-other", object{})}}
}
