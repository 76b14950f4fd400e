// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"
	"strings"
)

// longestError is how long, in bytes, the text of a sync's error may be. A host may quote what it
// refuses, and thousands of children may be refused at once.
const longestError = 4096

// brief is an error with a text that logs can hold.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= longestError {
		return err
	}
	return &briefError{text: strings.ToValidUTF8(text[:longestError], "") + "…", err: err}
}

// briefError is an error of which the beginning is told.
type briefError struct {
	text string
	err  error
}

func (b *briefError) Error() string { return b.text }

func (b *briefError) Unwrap() error { return b.err }

// several are the errors of one sync, of which there may be many alike.
type several []error

// joined makes one error of those that there are; nil if there are none.
func joined(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return several(errs)
}

func (s several) Error() string {
	texts := make([]string, len(s))
	for i, err := range s {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("%d errors: %s", len(s), strings.Join(texts, "; "))
}

func (s several) Unwrap() []error { return s }
