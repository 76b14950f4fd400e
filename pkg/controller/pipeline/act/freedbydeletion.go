// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
