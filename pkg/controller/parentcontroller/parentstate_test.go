// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"testing"
)

func TestParents(t *testing.T) {
	a, b := web("a"), web("b")
	p := newParentStates(nil)
	first := p.get(a)
	if p.get(a) != first || p.get(b) == first {
		t.Error("each parent has one state of its own")
	}
	p.forget(a)
	if p.get(a) == first {
		t.Error("a parent that is gone is still known")
	}
}
