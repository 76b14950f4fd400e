// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// overtakenError is the error of a sync that did not write an object, because others had changed it
// since it was observed. The next sync observes it again.
type overtakenError struct{ what string }

func (e *overtakenError) Error() string { return e.what + " has changed since it was observed" }

// overtaken returns the *overtakenError of an outcome with a conflict.
func overtaken(outcome *pipeline.Outcome) error {
	if outcome.Op.OnParent() {
		return &overtakenError{fmt.Sprintf("the parent, whose %s is to be written,", outcome.Op)}
	}
	return &overtakenError{outcome.Key().String()}
}

// truncate returns the error with a text that is not too long: the host may quote what it refuses, and it may refuse
// thousands of children at once.
func (c *Controller) truncate(err error) error {
	if err == nil {
		return nil
	}
	most := report.MaxMessage
	if c.DeveloperMode {
		most = report.MaxWholeMessage
	}
	whole := err.Error()
	if len(whole) <= most {
		return err
	}
	return &truncatedError{text: text.Shorten(whole, most), err: err}
}

// truncatedError is an error that shows only the beginning of its text.
type truncatedError struct {
	text string
	err  error
}

func (t *truncatedError) Error() string { return t.text }

func (t *truncatedError) Unwrap() error { return t.err }
