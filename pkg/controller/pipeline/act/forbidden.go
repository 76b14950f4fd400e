// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// lacksRight is the message of an API server about a user who lacks a right. It is a constant of
// apimachinery. Admission also forbids, in other words: no right would change that.
var lacksRight = regexp.MustCompile(`^\S+ (?:"[^"]*" )?is forbidden: User "[^"]*" ` +
	`cannot (\S+) resource "([^"/]+)/?([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)

// MissingRightError is the error of a request that was refused for want of a right. Once the right is
// given, the request succeeds, and no event announces it.
type MissingRightError struct {
	// Missing is the right. Err says as whom the request was made.
	Missing rights.Right
	Err     error
}

func (e *MissingRightError) Error() string {
	return fmt.Sprintf("%v (missing is the rule %s)", e.Err, e.Missing.Rule())
}

func (e *MissingRightError) Unwrap() error { return e.Err }

// LacksRight reports whether a request was refused for want of a right, and not by admission.
func LacksRight(err error) bool { return rightIn(err) != nil }

// rightIn returns the parts of the message of an error about a missing right; nil for every other error.
func rightIn(err error) []string {
	refused, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsForbidden(err) {
		return nil
	}
	return lacksRight.FindStringSubmatch(refused.ErrStatus.Message)
}

// withMissingRule returns the error of a request that was refused for want of a right as a
// *MissingRightError, and every other one as it is.
func withMissingRule(err error) error {
	parts := rightIn(err)
	if parts == nil {
		return err
	}
	return &MissingRightError{Err: err, Missing: rights.Right{Verb: parts[1], Object: rights.Object{
		GroupResource: schema.GroupResource{Resource: parts[2], Group: parts[4]}, Subresource: parts[3], Namespace: parts[5],
	}}}
}
