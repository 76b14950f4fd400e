// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/klog/v2"
)

// errorList is two or more errors of one sync.
type errorList []error

// JoinErrors returns one error for all that are not nil; nil if there are none.
func JoinErrors(errs []error) error {
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

// Recover turns a panic into an error. It is deferred.
func Recover(ctx context.Context, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
		klog.FromContext(ctx).Error(*err, "Sync panicked", "stack", string(debug.Stack()))
	}
}
