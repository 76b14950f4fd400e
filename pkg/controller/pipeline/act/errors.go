// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
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

// isFreedByDeletion reports whether the host rejected the dry run of a child's replacement only because the
// child itself still uses what the replacement needs: its share of a quota, or the node ports of a Service.
func (a *Actor) isFreedByDeletion(ctx context.Context, step pipeline.Step, err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		denied := denialOf(err)
		return denied != nil && denied.fits(a.shareOf(ctx, step, denied))
	case apierrors.IsInvalid(err) && step.Type.Group == "" && step.Type.Kind == "Service":
		return hasNodePorts(step.Observed, err.Error())
	}
	return false
}

// exceeded matches the message of ResourceQuota about a request. The message lists the exceeded resources.
var exceeded = regexp.MustCompile(`exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)$`)

// quotaDenial is what ResourceQuota says about an object that it denies.
type quotaDenial struct {
	quota                    string
	requested, used, limited corev1.ResourceList
}

// denialOf returns what a quota says in an error; nil if no quota denied the request.
func denialOf(err error) *quotaDenial {
	if err == nil {
		return nil
	}
	match := exceeded.FindStringSubmatch(err.Error())
	if match == nil {
		return nil
	}
	return &quotaDenial{match[1], amounts(match[2]), amounts(match[3]), amounts(match[4])}
}

// amounts parses a list such as "pods=1,requests.cpu=500m". It leaves out what it cannot read.
func amounts(text string) corev1.ResourceList {
	of := corev1.ResourceList{}
	for part := range strings.SplitSeq(text, ",") {
		name, amount, _ := strings.Cut(part, "=")
		if quantity, err := resource.ParseQuantity(amount); err == nil {
			of[corev1.ResourceName(name)] = quantity
		}
	}
	return of
}

// fits reports whether the denied object has room once the quota no longer counts these amounts.
func (d *quotaDenial) fits(freed corev1.ResourceList) bool {
	for name, needed := range d.requested {
		free, isFreed := freed[name]
		used, isUsed := d.used[name]
		limited, isLimited := d.limited[name]
		if !isFreed || !isUsed || !isLimited || free.Cmp(used) > 0 {
			return false
		}
		used.Sub(free)
		used.Add(needed)
		if used.Cmp(limited) > 0 {
			return false
		}
	}
	return len(d.requested) > 0
}

// measured are the types of which quotas count more than the number of objects.
var measured = [...]schema.GroupKind{
	{Kind: "Pod"}, {Kind: "PersistentVolumeClaim"}, {Kind: "Service"}, {Group: "resource.k8s.io", Kind: "ResourceClaim"},
}

// shareOf returns what a quota that denied the replacement of a child counts for the child. The quota has to deny
// another object like the child as well, in a dry run, unless it can only count objects. Otherwise the result is nil:
// the child uses less than its replacement, or it is not known what the child uses.
func (a *Actor) shareOf(ctx context.Context, step pipeline.Step, denied *quotaDenial) corev1.ResourceList {
	if !slices.Contains(measured[:], step.Type.GroupKind()) {
		return denied.requested
	}
	body, err := likeObserved(step.Observed)
	if err != nil {
		return nil
	}
	_, err = a.Writer.TryCreate(ctx, step.Type, step.Namespace, body)
	if like := denialOf(err); like != nil && like.quota == denied.quota {
		return like.requested
	}
	return nil
}

// likeObserved returns the JSON that creates an object like the observed one, without the addresses and ports that the
// observed one keeps from others.
func likeObserved(observed *object.Object) ([]byte, error) {
	content, err := observed.Decode()
	if err != nil {
		return nil, err
	}
	content["metadata"] = map[string]any{
		"name": observed.Name, "namespace": observed.Namespace, "labels": observed.Labels,
	}
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok && observed.Kind == "Service" {
		for _, field := range [...]string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			delete(spec, field)
		}
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok {
				delete(port, "nodePort")
			}
		}
	}
	return object.Canonical(content)
}

// allocated matches the host's message about a node port that is in use.
var allocated = regexp.MustCompile(`Invalid value: (\d+): provided port is already allocated`)

// hasNodePorts reports whether a new Service was rejected only because of node ports that the observed one has.
// The host allocates ports after it has validated everything else.
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
