// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
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

// errCalmingDown is why a parent is failing whose write loops are not over for long.
var errCalmingDown = errors.New("a write loop seems to be over, and this object counts as synced when nothing was undone for a minute; nothing is to be done")

// slowedDownError returns why a parent is failing that is in write loops.
func (c *Controller) slowedDownError(parent object.Key) error {
	loops := c.guard.LoopsOf(parent, time.Now())
	if len(loops) == 0 {
		return errCalmingDown
	}
	c.addRivals(loops)
	return errors.New(report.WriteLoopsOfParent(loops))
}

// errorList is two or more errors of one sync.
type errorList []error

// joinErrors returns one error for all that are not nil; nil if there are none.
func joinErrors(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return errorList(errs)
}

func (l errorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	slices.Sort(texts) // in another order, it would be another event
	return fmt.Sprintf("%d errors: %s", len(l), strings.Join(texts, "; "))
}

func (l errorList) Unwrap() []error { return l }

// maxErrorLength is the maximum length, in bytes, of the text of a sync's error. The host may quote
// what it refuses, and it may refuse thousands of children at once.
// In the developer's mode it is wholeErrorLength.
const (
	maxErrorLength   = 4096
	wholeErrorLength = 32768
)

// truncate returns the error with a text that is not too long.
func (c *Controller) truncate(err error) error {
	if err == nil {
		return nil
	}
	most := maxErrorLength
	if c.DeveloperMode {
		most = wholeErrorLength
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
