// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What was found about several objects is one line, which names some of them.
func TestFindingsAreShownTogether(t *testing.T) {
	found := &findings{}
	for _, name := range []string{"g", "f", "e", "d", "c", "b", "a", "a"} {
		found.add(warns, "CompositeController "+name, "it has the %s", "same")
	}
	found.add(warns, "", "about nothing")
	found.add(warns, "CompositeController a", "something\nin two lines")
	found.add(blocks, "you", "lack the right")
	var said strings.Builder
	m := &Migration{config: Config{Out: &said}}
	m.sayFindings(found)
	want := `To look at:
  about nothing
  CompositeController a, CompositeController b, CompositeController c, CompositeController d, CompositeController e and 2 more: it has the same
  CompositeController a: something
    in two lines
Stands in the way:
  you: lack the right
`
	if diff := cmp.Diff(want, said.String()); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatStandsInTheWayBlocks(t *testing.T) {
	found := &findings{}
	found.add(warns, "a", "look")
	found.add(differs, "a", "differs")
	if err := found.blocked(); err != nil {
		t.Errorf("blocked by a warning: %v", err)
	}
	found.add(blocks, "a", "one")
	if err := found.blocked(); err == nil || err.Error() != "one thing stands in the way: see above" {
		t.Errorf("it says %v", err)
	}
	found.add(blocks, "b", "two")
	blocked, ok := errors.AsType[*BlockedError](found.blocked())
	if !ok || blocked.Count != 2 {
		t.Errorf("it says %v", blocked)
	}
}
