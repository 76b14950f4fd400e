// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"
	"strings"
)

// maxErrorLength is how long, in bytes, the text of a sync's error may be. A host may quote what it
// refuses, and thousands of children may be refused at once.
const maxErrorLength = 4096

// truncate is an error with a text that logs can hold.
func truncate(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxErrorLength {
		return err
	}
	return &truncatedError{text: strings.ToValidUTF8(text[:maxErrorLength], "") + "…", err: err}
}

// truncatedError is an error of which the beginning is told.
type truncatedError struct {
	text string
	err  error
}

func (b *truncatedError) Error() string { return b.text }

func (b *truncatedError) Unwrap() error { return b.err }

// errorList are the errors of one sync, of which there may be many alike.
type errorList []error

// joinErrors makes one error of those that there are; nil if there are none.
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

func (s errorList) Error() string {
	texts := make([]string, len(s))
	for i, err := range s {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("%d errors: %s", len(s), strings.Join(texts, "; "))
}

func (s errorList) Unwrap() []error { return s }
