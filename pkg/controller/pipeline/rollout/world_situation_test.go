// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// situation is a world before a sync, and what the sync does. Texts are separated by commas,
// revisions by semicolons.
type situation struct {
	// kinds are the rolling kinds; none is Pods that are recreated.
	kinds []Kind
	// version and lists are what the parent says.
	version, lists string
	// has are the children and remembers the revisions before the sync.
	has, remembers string

	// condition is the condition of the decision.
	condition string
	// wants are the children in the response.
	wants string
	// remembered are the revisions afterwards.
	remembered string
}

func (s situation) check(t *testing.T) {
	t.Helper()
	w := newWorld(t, s.version, apart(s.lists, ", ")...)
	if s.kinds != nil {
		w.rules.Kinds = s.kinds
	}
	w.has(apart(s.has, ", ")...)
	w.remembers(apart(s.remembers, "; ")...)
	decision := w.decide()
	w.write(decision.Writes)
	if diff := cmp.Diff(s.condition, strings.TrimPrefix(conditionText(decision.Updated), "Updated ")); diff != "" {
		t.Errorf("condition differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(apart(s.wants, ", "), wanted(decision.Response)); diff != "" {
		t.Errorf("children differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(apart(s.remembered, "; "), w.remembered()); diff != "" {
		t.Errorf("revisions differ (-want +got):\n%s", diff)
	}
}

func apart(text, separator string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, separator)
}

// nameOfV is the name of the revision of a version of the world's parent.
func nameOfV(version string) string {
	return revisions.Name(webs, "parent-uid", []byte(`{"spec":{"version":"`+version+`"}}`))
}
