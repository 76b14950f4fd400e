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

// scripted answers syncs with the ConfigMap <parent> and the status synced: true, and
// finalize calls as finalize says.
func scripted(t testing.TB, finalize func(request) object) *script {
	return &script{t: t, finalize: finalize}
}

func (s *script) handle(_ context.Context, call hook.Call) hook.Answer {
	var asked request
	if err := call.Decode(&asked); err != nil {
		s.t.Errorf("the hook was sent something unreadable: %v", err)
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

// then changes what finalize calls are answered.
func (s *script) then(finalize func(request) object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finalize = finalize
}

// done answers that there is nothing left to finalize, in words that would create a child.
func done(asked request) object {
	return object{"finalized": true, "status": object{"phase": "done"}, "children": []object{hook.ConfigMap(asked.Parent.GetName()+"-late", object{})}}
}

// doneOnceTouched answers like done as soon as it is shown the annotation touched, and until then like replacing. A sync
// that is under way when the answer changes neither lets the parent go before it is annotated, nor writes it meanwhile.
func doneOnceTouched(asked request) object {
	if !hasAnnotation("touched")(&asked.Parent) {
		return replacing(asked)
	}
	return done(asked)
}

// replacing answers another child in place of the one there is.
func replacing(asked request) object {
	return object{"status": object{"phase": "finalizing"}, "children": []object{hook.ConfigMap(asked.Parent.GetName()+"-other", object{})}}
}
