// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// stableError is an error of the host that lists its reasons in the same order each time. The same error
// in another order would be another event.
type stableError struct {
	text string
	err  error
}

func (e *stableError) Error() string { return e.text }

func (e *stableError) Unwrap() error { return e.err }

// inStableOrder returns an error with the reasons sorted that the host lists in it. It finds them in the
// causes of an invalid object, and in the lines in which a schema refuses an object.
func inStableOrder(err error) error {
	if err == nil {
		return nil
	}
	text := sortLines(sortCauses(err.Error(), err))
	if text == err.Error() {
		return err
	}
	return &stableError{text: text, err: err}
}

// sortCauses sorts the causes of an error where its text lists them as the host does.
func sortCauses(text string, err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) < 2 {
		return text
	}
	var causes []string
	for _, cause := range status.ErrStatus.Details.Causes {
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	listed := "[" + strings.Join(causes, ", ") + "]"
	slices.Sort(causes)
	return strings.Replace(text, listed, "["+strings.Join(causes, ", ")+"]", 1)
}

// sortLines sorts the indented lines that follow a line that ends with "errors:".
func sortLines(text string) string {
	before, listed, found := strings.Cut(text, "errors:\n")
	if !found {
		return text
	}
	lines := strings.Split(listed, "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") })
	if end < 0 {
		end = len(lines)
	}
	slices.Sort(lines[:end])
	return before + "errors:\n" + strings.Join(lines, "\n")
}
