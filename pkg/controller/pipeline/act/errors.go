// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// isConflict reports whether a write failed because the object is no longer the one that was
// observed.
func isConflict(step pipeline.Step, err error) bool {
	return !step.Creates() && (apierrors.IsNotFound(err) || apierrors.IsConflict(err) || isReplaced(err))
}

// isReplaced reports whether a request was refused because it names another UID than that of the
// existing object.
func isReplaced(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(status) && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// describeError adds to an error which write failed. What the host says stays whole, and one hint of ours
// may follow it in brackets.
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
	return fmt.Sprintf("%v (the missing rule is %s)", e.Err, e.Missing.Rule())
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

// isFreedByDeletion reports whether the host rejected the dry run of a child's replacement only because the
// child itself still has what the replacement needs: its share of a quota, or the node ports of a Service.
func isFreedByDeletion(step pipeline.Step, err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		return isFullWithChild(err.Error())
	case apierrors.IsInvalid(err) && step.Type.Group == "" && step.Type.Kind == "Service":
		return hasNodePorts(step.Observed, err.Error())
	}
	return false
}

// exceeded is what ResourceQuota says of a request. It lists the resources of which there is not enough.
var exceeded = regexp.MustCompile(`exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)$`)

// isFullWithChild reports whether a quota denied a new object that is probably no larger than the one that it
// replaces: nothing is used beyond the limits, so there is room for the new one when the other is gone. One that
// needs more than all that is used is larger than the other.
func isFullWithChild(message string) bool {
	match := exceeded.FindStringSubmatch(message)
	if match == nil {
		return false
	}
	requested, used, limited := strings.Split(match[1], ","), strings.Split(match[2], ","), strings.Split(match[3], ",")
	if len(used) != len(limited) || len(used) != len(requested) {
		return false
	}
	for i := range used {
		if !ascend(requested[i], used[i], limited[i]) {
			return false
		}
	}
	return true
}

// ascend reports whether the amounts, each with the name of the same resource, are in ascending order.
func ascend(amounts ...string) bool {
	var last resource.Quantity
	first, _, _ := strings.Cut(amounts[0], "=")
	for _, text := range amounts {
		name, amount, _ := strings.Cut(text, "=")
		quantity, err := resource.ParseQuantity(amount)
		if err != nil || name != first || quantity.Cmp(last) < 0 {
			return false
		}
		last = quantity
	}
	return true
}

// allocated is what the host says of a node port that a Service has.
var allocated = regexp.MustCompile(`Invalid value: (\d+): provided port is already allocated`)

// hasNodePorts reports whether a new Service was rejected for nothing but node ports that the observed one
// has. The host allocates ports after it has found the rest valid.
func hasNodePorts(observed *object.Object, message string) bool {
	matches := allocated.FindAllStringSubmatch(message, -1)
	for _, match := range matches {
		if !hasNodePort(observed, match[1]) {
			return false
		}
	}
	return len(matches) > 0
}

func hasNodePort(observed *object.Object, wanted string) (has bool) {
	_ = object.Elements(observed.Lookup("spec", "ports"), func(_ int, port []byte) error {
		has = has || string(object.Lookup(port, "nodePort")) == wanted
		return nil
	})
	return has || string(observed.Lookup("spec", "healthCheckNodePort")) == wanted
}
