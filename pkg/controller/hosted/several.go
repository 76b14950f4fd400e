// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"
	"strings"
)

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
