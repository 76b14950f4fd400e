// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
)

func TestParents(t *testing.T) {
	a, b := web("a"), web("b")
	p := newParents()
	first := p.get(a)
	if p.get(a) != first || p.get(b) == first {
		t.Error("each parent has one state of its own")
	}
	p.record(a, nil)
	p.record(b, errors.New("no"))
	if !p.synced[a] || p.synced[b] || p.lastError == nil || p.lastError.Parent != b || p.lastError.Message != "no" || p.lastError.Time.IsZero() {
		t.Errorf("synced %v, last error %v", p.synced, p.lastError)
	}
	for _, putOff := range []error{&hook.ThrottledError{}, &related.Waiting{}, errConflict} {
		p.record(a, fmt.Errorf("sync hook failed: %w", putOff))
		if !p.synced[a] || p.lastError.Parent != b {
			t.Errorf("a sync that was put off (%v) is neither a failure nor a success", putOff)
		}
	}
	p.record(a, fmt.Errorf("sync hook failed: %w", &hook.CircuitOpenError{}))
	if p.synced[a] || p.lastError.Parent != b {
		t.Error("a parent whose hook is down fails, and the call that was not answered tells why")
	}
	p.record(a, nil)
	if !p.lastError.Recovered.IsZero() {
		t.Error("another parent has recovered")
	}
	p.record(b, nil)
	if !p.synced[b] || p.lastError.Message != "no" || p.lastError.Recovered.IsZero() {
		t.Errorf("the last error stays when its parent has recovered, and says so: %+v", p.lastError)
	}
	p.record(a, errors.New("once more"))
	if !p.lastError.Recovered.IsZero() || p.lastError.Parent != a {
		t.Errorf("the last error is %+v", p.lastError)
	}
	p.forget(a)
	if p.lastError.Recovered.IsZero() {
		t.Error("a parent that is gone does not fail any more")
	}
	if _, known := p.synced[a]; known || p.get(a) == first {
		t.Error("a parent that is gone is still known")
	}
}
