// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// failedCheck is a status check that a child does not pass.
type failedCheck struct {
	v1alpha1.StatusConditionCheck
	// index is its place in the spec, of is the name of the child, and why is why it fails.
	index   int
	of, why string
}

// advice names the status check of the spec that a rollout which waits for the child waits for, and what
// conditions the child has instead. It is empty if there is no such check; the child may be nil.
func (c *child) advice() string {
	if c == nil || c.failed == nil {
		return ""
	}
	check := fmt.Sprintf("%s.statusChecks.conditions[%d]", c.kind.Field, c.failed.index)
	if findCondition(c.observed.Lookup("status", "conditions"), c.failed.Type) != nil {
		return fmt.Sprintf("child %s failed status check: %s; %s asks for that", c.failed.of, c.failed.why, check)
	}
	types := conditionTypes(c.observed)
	has, remedy := "none", "correct the type if it is misspelt"
	if len(types) > 0 {
		has = "only " + listed(types)
	}
	if meant := nearest.To(c.failed.Type, types); meant != "" {
		remedy = fmt.Sprintf("did you mean %q?", meant)
	}
	return fmt.Sprintf("%s.type is %q, and %s has no such condition (it has %s): %s", check, c.failed.Type, c.failed.of, has, remedy)
}

// conditionTypes returns the types of the conditions of an object.
func conditionTypes(of *object.Object) (types []string) {
	_ = object.Elements(of.Lookup("status", "conditions"), func(_ int, condition []byte) error {
		if name := textOf(condition, "type"); name != "" {
			types = append(types, name)
		}
		return nil
	})
	return types
}

// listed returns the types of conditions as a message names them.
func listed(types []string) string { return enumerate.FirstFunc(maxListed, types, strconv.Quote) }
