// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// whyInMotion returns why a child is in motion: it is not what its revision wants, or it is not
// healthy. The reason is empty if the child is not in motion.
func (c *children) whyInMotion(child *child) (string, error) {
	name := c.nameOf(child)
	if child.observed == nil {
		return "missing child " + name, nil
	}
	isUpToDate, err := c.upToDate(child.observed, child.desired[child.at])
	switch {
	case err != nil:
		return "", err
	case !isUpToDate:
		return "child " + name + " is not updated yet", nil
	case child.observed.DeletionTimestamp != nil:
		return "child " + name + " is being deleted", nil
	case child.kind.InPlace && !isSpecObserved(child.observed):
		return "child " + name + " with RollingInPlace update strategy hasn't observed latest spec", nil
	}
	for i, check := range child.kind.Checks {
		if why := failure(child.observed, check); why != "" {
			child.failed = &failedCheck{StatusConditionCheck: check, index: i, of: name, why: why}
			return "child " + name + " failed status check: " + why, nil
		}
	}
	if why := c.whyNotCompleted(child); why != "" {
		return "child " + name + " has not completed the change: " + why, nil
	}
	return "", nil
}

// isSpecObserved reports whether the status of an object is about its latest spec. It is true
// if the status does not say.
func isSpecObserved(observed *object.Object) bool {
	generation := generationObserved(observed)
	return generation <= 0 || generation >= observed.Generation
}

// generationObserved returns the generation that the status of an object is about; zero if it does not say.
func generationObserved(of *object.Object) int64 {
	generation, err := strconv.ParseInt(string(of.Lookup("status", "observedGeneration")), 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

// failure returns why an object does not pass a check. It is empty if the object passes.
func failure(observed *object.Object, check v1alpha1.StatusConditionCheck) string {
	condition := findCondition(observed.Lookup("status", "conditions"), check.Type)
	switch {
	case condition == nil:
		return fmt.Sprintf("required condition type missing: %q", check.Type)
	case check.Status != nil && textOf(condition, "status") != *check.Status:
		return fmt.Sprintf("%q condition status is %q (want %q)", check.Type, textOf(condition, "status"), *check.Status)
	case check.Reason != nil && textOf(condition, "reason") != *check.Reason:
		return fmt.Sprintf("%q condition reason is %q (want %q)", check.Type, textOf(condition, "reason"), *check.Reason)
	}
	return ""
}

// findCondition returns the first condition of a type, nil if there is none.
func findCondition(conditions []byte, conditionType string) []byte {
	var found []byte
	_ = object.Elements(conditions, func(_ int, condition []byte) error {
		if found == nil && textOf(condition, "type") == conditionType {
			found = condition
		}
		return nil
	})
	return found
}

// textOf returns the string in a member of a JSON object, empty if there is none.
func textOf(raw []byte, name string) string {
	var text string
	if json.Unmarshal(object.Lookup(raw, name), &text) != nil {
		return ""
	}
	return text
}
