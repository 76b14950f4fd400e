// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"errors"
	"testing"
)

// Events with the same message are one event, and the host answers in any order.
func TestTheSameErrorsMakeTheSameText(t *testing.T) {
	a, b := errors.New("can't create a"), errors.New("can't create b")
	if one, other := JoinErrors([]error{a, b}).Error(), JoinErrors([]error{b, a}).Error(); one != other {
		t.Errorf("they are %q and %q", one, other)
	}
}
