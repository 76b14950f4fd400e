// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

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
		"an answer that cannot be read": {fmt.Errorf("sync hook failed: %w: it is empty", hook.ErrMalformed), true},
		"a request to be called later":  {fmt.Errorf("sync hook failed: %w", &hook.ThrottledError{After: time.Second}), true},
		"no answer":                     {refused, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var c HookCalls
			c.Update(hook.Sync, snapshotOf("a"), errors.New("an earlier failure"))
			c.Update(hook.Sync, snapshotOf("a"), test.err)
			if made, err := c.Status(); !made || (err == nil) != test.want {
				t.Errorf("called %v, error %v", made, err)
			}
		})
	}
}

func TestACallThatWasNotMadeShowsNothing(t *testing.T) {
	var c HookCalls
	refused := errors.New("connection refused")
	notMade := fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{After: time.Second})
	c.Update(hook.Sync, snapshotOf("a"), notMade)
	if made, err := c.Status(); made || err != nil {
		t.Error("the hook counts as called")
	}
	c.Update(hook.Sync, snapshotOf("a"), refused)
	c.Update(hook.Sync, snapshotOf("a"), notMade)
	if _, err := c.Status(); !errors.Is(err, refused) {
		t.Errorf("the error is %v, want that of the last call", err)
	}
}

// One good call says nothing about another hook, and nothing about another parent.
func TestOneGoodCallHidesNoBadOne(t *testing.T) {
	refused := errors.New("connection refused")
	var c HookCalls
	c.Update(hook.Sync, snapshotOf("b"), refused)
	c.Update(hook.Sync, snapshotOf("a"), refused)
	c.Update(hook.Customize, snapshotOf("a"), nil)
	c.Update(hook.Sync, snapshotOf("c"), nil)
	expect := func(want string) {
		t.Helper()
		made, err := c.Status()
		if !made || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	expect("about Web default/a: connection refused (calls for other parents that also got no answer: 1)")
	c.Update(hook.Sync, snapshotOf("a"), nil)
	expect("about Web default/b: connection refused")
	c.Forget(web("b"))
	expect("")
	if len(c.unanswered) > 0 {
		t.Errorf("left are %v", c.unanswered)
	}
}

// A parent that was opted out and in again is not finalized any more.
func TestACallOfTheOtherHookEndsOneThatWasNotAnswered(t *testing.T) {
	refused := errors.New("connection refused")
	for last, before := range map[string]string{hook.Sync: hook.Finalize, hook.Finalize: hook.Sync} {
		var c HookCalls
		c.Update(before, snapshotOf("a"), refused)
		c.Update(hook.Customize, snapshotOf("a"), nil)
		if _, err := c.Status(); !errors.Is(err, refused) {
			t.Errorf("after a call of the customize hook the error is %v", err)
		}
		c.Update(last, snapshotOf("b"), nil)
		if _, err := c.Status(); !errors.Is(err, refused) {
			t.Errorf("after a call about another parent the error is %v", err)
		}
		c.Update(last, snapshotOf("a"), nil)
		if _, err := c.Status(); err != nil {
			t.Errorf("the call of the %s hook that was not answered is not over: %v", before, err)
		}
	}
}

// A call about an earlier version of a parent says nothing about the present version.
func TestCallsAboutEarlierVersionsDoNotCount(t *testing.T) {
	var c HookCalls
	refused := errors.New("connection refused")
	earlier := snapshotOf("a")
	earlier.Present = earlier.Parent
	c.Update(hook.Sync, earlier, refused)
	if made, err := c.Status(); made || err != nil {
		t.Errorf("called %v, error %v", made, err)
	}
	c.Update(hook.Sync, snapshotOf("a"), refused)
	c.Update(hook.Sync, earlier, nil)
	if _, err := c.Status(); !errors.Is(err, refused) {
		t.Errorf("the error is %v, want that of the present version", err)
	}
}

func TestStaleCredentialsAreRememberedUntilTheyAreGood(t *testing.T) {
	sync, customize := &hook.Webhook{}, &hook.Webhook{}
	ofSync, ofCustomize := errors.New("of sync"), errors.New("of customize")
	var s StaleCredentials
	for _, step := range []struct {
		hook *hook.Webhook
		err  error
		want []error
	}{
		{sync, nil, nil},
		{sync, ofSync, []error{ofSync}},
		{customize, ofCustomize, []error{ofSync, ofCustomize}},
		{sync, nil, []error{ofCustomize}},
		{customize, ofSync, []error{ofSync}},
		{customize, nil, nil},
	} {
		_ = s.Set(step.hook, step.err)
		got := s.Err()
		if (got == nil) != (len(step.want) == 0) {
			t.Errorf("error is %v, want %v", got, step.want)
		}
		for _, want := range step.want {
			if !errors.Is(got, want) {
				t.Errorf("error is %v, want %v", got, want)
			}
		}
	}
}
