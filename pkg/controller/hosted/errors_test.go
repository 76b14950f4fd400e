// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

func TestErrorsAreBrief(t *testing.T) {
	c := &Controller{}
	if c.truncate(nil) != nil {
		t.Error("no error becomes one")
	}
	short := errors.New("no")
	if c.truncate(short) != short { //nolint:errorlint // it is the very error
		t.Error("a short error becomes another")
	}
	var refused []error
	for range 5000 {
		refused = append(refused, fmt.Errorf("can't create it: %s", strings.Repeat("ü", 100)))
	}
	long := c.truncate(planner.JoinErrors(append(refused, fmt.Errorf("and %w", &hook.CircuitOpenError{}))))
	const first = "5001 errors: and the hook does not answer"
	if text := long.Error(); len(text) > report.MaxMessage+len("…") || !strings.HasPrefix(text, first) ||
		strings.ToValidUTF8(text, "") != text {
		t.Errorf("it is told in %d bytes: %.100s", len(text), text)
	}
	if _, down := errors.AsType[*hook.CircuitOpenError](long); !down {
		t.Error("what kind of error it is gets lost")
	}
}

func TestTheDeveloperModeShowsWholeErrors(t *testing.T) {
	long := errors.New(strings.Repeat("x", 20_000))
	c := &Controller{}
	if text := c.truncate(long).Error(); len(text) > report.MaxMessage+len("…") {
		t.Errorf("without it, %d bytes are shown", len(text))
	}
	c.DeveloperMode = true
	if text := c.truncate(long).Error(); text != long.Error() {
		t.Errorf("%d bytes are shown, want all", len(text))
	}
}
