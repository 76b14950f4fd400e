// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// isConflict reports whether a write failed because the object is gone, was replaced or has changed since it
// was observed.
func isConflict(step pipeline.Step, err error) bool {
	return !step.Creates() && (apierrors.IsNotFound(err) || apierrors.IsConflict(err) || isReplaced(err))
}

// isReplaced reports whether the host refused a request because the existing object has another UID.
func isReplaced(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(status) && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool {
			return cause.Field == "metadata.uid"
		})
}

// describeError adds to an error which write failed. It keeps the host's message, and may add one hint in
// parentheses.
func describeError(step pipeline.Step, err error) error {
	err = withMissingRule(inStableOrder(err))
	switch {
	case step.Op == pipeline.Status:
		return fmt.Errorf("can't update status for %s: %w", step.Key(), err)
	case step.Op == pipeline.Metadata:
		return fmt.Errorf("can't update %s: %w", step.Key(), err)
	case step.Op == pipeline.Finalizer:
		return fmt.Errorf("can't update the finalizers of %s: %w", step.Key(), err)
	case apierrors.IsUnsupportedMediaType(err):
		return fmt.Errorf("can't %s %s: %w (its API server has no server-side apply: "+
			"set updateStrategy.apply to DynamicApply)",
			step.Op, step.Key(), err)
	}
	return fmt.Errorf("can't %s %s: %w", step.Op, step.Key(), err)
}

// lacksRight matches the message of an API server about a user who lacks a right. The message is a constant of
// apimachinery. Admission also forbids requests, with other messages; a right would not change that.
var lacksRight = regexp.MustCompile(`^\S+ (?:"[^"]*" )?is forbidden: User "[^"]*" ` +
	`cannot (\S+) resource "([^"/]+)/?([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)

// MissingRightError is the error of a request that was refused for lack of a right. Once the right is granted,
// the request succeeds, and no event announces that.
type MissingRightError struct {
	// Missing is the right. Err names the user who made the request.
	Missing rights.Right
	Err     error
}

func (e *MissingRightError) Error() string {
	return fmt.Sprintf("%v (the missing rule is %s)", e.Err, e.Missing.Rule())
}

func (e *MissingRightError) Unwrap() error { return e.Err }

// LacksRight reports whether a request was refused for lack of a right, and not by admission.
func LacksRight(err error) bool { return matchMissingRight(err) != nil }

// matchMissingRight returns the parts of the message of an error about a missing right; nil for every other error.
func matchMissingRight(err error) []string {
	refused, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsForbidden(err) {
		return nil
	}
	return lacksRight.FindStringSubmatch(refused.ErrStatus.Message)
}

// withMissingRule returns the error of a request that was refused for lack of a right as a *MissingRightError,
// and every other error unchanged.
func withMissingRule(err error) error {
	parts := matchMissingRight(err)
	if parts == nil {
		return err
	}
	return &MissingRightError{Err: err, Missing: rights.Right{Verb: parts[1], Object: rights.Object{
		GroupResource: schema.GroupResource{Resource: parts[2], Group: parts[4]}, Subresource: parts[3], Namespace: parts[5],
	}}}
}

// isFreedByDeletion reports whether the host rejected the dry run of a child's replacement only because the child
// itself still uses resources that the replacement needs: its share of a quota, or the node ports of a Service.
func isFreedByDeletion(step pipeline.Step, err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		denied, of := denialOf(err), step.Type.GroupKind()
		replacement, err := object.Parse(step.Body)
		if denied == nil || err != nil {
			return false
		}
		freed := usageOf(step.Observed, of, denied)
		return denied.fits(freed) && denied.isOnly(freed, usageOf(replacement, of, denied))
	case apierrors.IsInvalid(err) && step.Type.Group == "" && step.Type.Kind == "Service":
		return hasNodePorts(step.Observed, step.Body, err.Error())
	}
	return false
}

// allocated matches the host's message about a node port that is in use.
var allocated = regexp.MustCompile(`Invalid value: (\d+): provided port is already allocated`)

// hasNodePorts reports whether a new Service was rejected only because of node ports that the observed one has.
// The host allocates ports after it has validated everything else, and names only the first one that is in use. So the
// observed Service must have all that the new one names.
func hasNodePorts(observed *object.Object, replacement []byte, message string) bool {
	hasAll := len(allocated.FindAllString(message, -1)) > 0
	for _, match := range allocated.FindAllStringSubmatch(message, -1) {
		hasAll = hasAll && hasNodePort(observed, match[1])
	}
	_ = object.Elements(object.Lookup(replacement, "spec", "ports"), func(_ int, port []byte) error {
		named := string(object.Lookup(port, "nodePort"))
		hasAll = hasAll && (named == "" || named == "0" || hasNodePort(observed, named))
		return nil
	})
	return hasAll
}

func hasNodePort(observed *object.Object, wanted string) (has bool) {
	_ = object.Elements(observed.Lookup("spec", "ports"), func(_ int, port []byte) error {
		has = has || string(object.Lookup(port, "nodePort")) == wanted
		return nil
	})
	return has || string(observed.Lookup("spec", "healthCheckNodePort")) == wanted
}
