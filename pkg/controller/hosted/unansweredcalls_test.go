// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

func TestAnAnswerOfAnyKindShowsThatTheHookIsReachable(t *testing.T) {
	refused := errors.New("connection refused")
	tests := map[string]struct {
		err  error
		want bool
	}{
		"an answer":                     {nil, true},
		"an answer that cannot be read": {fmt.Errorf("sync hook failed: %w: it is empty", hook.ErrUnreadable), true},
		"a request to be called later":  {fmt.Errorf("sync hook failed: %w", &hook.ThrottledError{After: time.Second}), true},
		"no answer":                     {refused, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var c hookCalls
			c.update(hook.Sync, snapshotOf("a"), errors.New("an earlier failure"))
			c.update(hook.Sync, snapshotOf("a"), test.err)
			if made, err := c.status(); !made || (err == nil) != test.want {
				t.Errorf("called %v, error %v", made, err)
			}
		})
	}
}

func TestACallThatWasNotMadeShowsNothing(t *testing.T) {
	var c hookCalls
	refused := errors.New("connection refused")
	notMade := fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{After: time.Second})
	c.update(hook.Sync, snapshotOf("a"), notMade)
	if made, err := c.status(); made || err != nil {
		t.Error("the hook counts as called")
	}
	c.update(hook.Sync, snapshotOf("a"), refused)
	c.update(hook.Sync, snapshotOf("a"), notMade)
	if _, err := c.status(); !errors.Is(err, refused) {
		t.Errorf("the error is %v, want that of the last call", err)
	}
}

// One good call says nothing about another hook, and nothing about another parent.
func TestOneGoodCallHidesNoBadOne(t *testing.T) {
	refused := errors.New("connection refused")
	var c hookCalls
	c.update(hook.Sync, snapshotOf("b"), refused)
	c.update(hook.Sync, snapshotOf("a"), refused)
	c.update(hook.Customize, snapshotOf("a"), nil)
	c.update(hook.Sync, snapshotOf("c"), nil)
	expect := func(want string) {
		t.Helper()
		made, err := c.status()
		if !made || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	expect("about Web default/a: connection refused (calls about others were not answered either: 1)")
	c.update(hook.Sync, snapshotOf("a"), nil)
	expect("about Web default/b: connection refused")
	c.forget(web("b"))
	expect("")
	if len(c.unanswered) > 0 {
		t.Errorf("left are %v", c.unanswered)
	}
}

// A parent that was opted out and in again is not finalized any more.
func TestACallOfTheOtherHookEndsOneThatWasNotAnswered(t *testing.T) {
	refused := errors.New("connection refused")
	for last, before := range map[string]string{hook.Sync: hook.Finalize, hook.Finalize: hook.Sync} {
		var c hookCalls
		c.update(before, snapshotOf("a"), refused)
		c.update(hook.Customize, snapshotOf("a"), nil)
		if _, err := c.status(); !errors.Is(err, refused) {
			t.Errorf("after a call of the customize hook the error is %v", err)
		}
		c.update(last, snapshotOf("b"), nil)
		if _, err := c.status(); !errors.Is(err, refused) {
			t.Errorf("after a call about another parent the error is %v", err)
		}
		c.update(last, snapshotOf("a"), nil)
		if _, err := c.status(); err != nil {
			t.Errorf("the call of the %s hook that was not answered is not over: %v", before, err)
		}
	}
}

// A call about an earlier version of a parent says nothing about the present version.
func TestCallsAboutEarlierVersionsDoNotCount(t *testing.T) {
	var c hookCalls
	refused := errors.New("connection refused")
	earlier := snapshotOf("a")
	earlier.Present = earlier.Parent
	c.update(hook.Sync, earlier, refused)
	if made, err := c.status(); made || err != nil {
		t.Errorf("called %v, error %v", made, err)
	}
	c.update(hook.Sync, snapshotOf("a"), refused)
	c.update(hook.Sync, earlier, nil)
	if _, err := c.status(); !errors.Is(err, refused) {
		t.Errorf("the error is %v, want that of the present version", err)
	}
}
