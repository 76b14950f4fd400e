// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// motion counts the children in motion, and decides which child may be set in motion next. A child is in motion while
// it differs from its desired state at its revision, or is not healthy.
type motion struct {
	*children
	// latest counts those at the latest revision, older those at all others.
	latest, older int
}

// countMotion finds out which children are in motion.
func (c *children) countMotion() (*motion, error) {
	m := &motion{children: c}
	for _, child := range c.inOrder {
		var err error
		switch child.motion, err = c.whyInMotion(child); {
		case err != nil:
			return nil, err
		case child.motion == "":
		case child.at == 0:
			m.latest++
		default:
			m.older++
		}
	}
	c.cache.completions = c.completions
	return m, nil
}

// next returns the index of the child that moves to the latest revision now, or -1 if none may move. The
// children behind are in the order of the latest answer.
//
// The first child moves if fewer children than its limit are in motion, both at the latest revision and in total.
// Children at older revisions also count, because an earlier rollout that did not finish may have left some in motion.
// If only these prevent the move, waiting would not help, because their revision may be the fault. Then one of them
// moves, which does not set another child in motion.
func (m *motion) next(behind []*child) int {
	switch {
	case len(behind) == 0 || m.latest >= m.limit(behind[0]):
		return -1
	case behind[0].isInMotion() || m.latest+m.older < m.limit(behind[0]):
		return 0
	}
	return slices.IndexFunc(behind, func(child *child) bool {
		return child.isInMotion() && m.latest < m.limit(child)
	})
}

func (m *motion) limit(child *child) int { return child.kind.limit(m.ofKind[child.GroupKind]) }

// limit returns how many children may be in motion once a child of this kind moves. The
// argument is the number of children of the kind.
func (k *Kind) limit(children int) int {
	if k.MaxUnavailable == nil {
		return 1
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(k.MaxUnavailable, children, true)
	if err != nil {
		return 1
	}
	return max(limit, 1)
}

// move moves a child to the latest revision, which sets it in motion.
func (m *motion) move(behind *child) {
	if behind.isInMotion() {
		m.older--
	}
	m.latest++
	behind.at = 0
}

// waitsFor returns the child that the rollout waits for: the first child in motion at the latest revision or, if
// there is none, at any revision.
func (m *motion) waitsFor() *child {
	var first *child
	for _, child := range m.inOrder {
		switch {
		case !child.isInMotion():
		case child.at == 0:
			return child
		case first == nil:
			first = child
		}
	}
	return first
}

// whyInMotion returns the reason why a child is in motion; empty if it is not.
func (c *children) whyInMotion(child *child) (string, error) {
	name := c.nameOf(child)
	if child.observed == nil {
		return "missing child " + name, nil
	}
	isUpToDate, err := c.upToDate(child.observed, child.wanted())
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

// isSpecObserved reports whether the status of an object is about its latest spec, or does not say which spec it is
// about.
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

// failure returns the reason why an object fails a check; empty if it passes.
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

// unobservedPeriod bounds the time for which a rollout waits until the controller of a new child shows in the
// child's status. After that, the host probably runs no such controller.
const unobservedPeriod = 10 * time.Second

const unobserved = "its controller has not observed it yet"

// completion is the reason why a child's own controller has not completed the last change of the child, at a resource
// version; empty if it has.
type completion struct {
	version, why string
}

// whyNotCompleted returns the reason why a child's own controller has not completed the last change of the child, by
// the rules of kstatus. It is empty if the controller has, or if there is none. A child is decoded only once at each
// resource version.
func (c *children) whyNotCompleted(child *child) string {
	observed := child.observed
	if !hasOwnController(observed) {
		return ""
	}
	if observed.Lookup("status") == nil {
		if c.hasObserved(child.GroupKind) {
			return unobserved
		}
		return ""
	}
	known := c.cache.completions[observed.UID]
	if known.version != observed.ResourceVersion || known.version == "" {
		known = completion{observed.ResourceVersion, computeStatus(observed)}
	}
	if c.completions == nil {
		c.completions = map[types.UID]completion{}
	}
	c.completions[observed.UID] = known
	if generationObserved(observed) > 0 {
		return known.why
	}
	switch age := c.now.Sub(observed.CreationTimestamp.Time); {
	case hasConditions(observed):
		return known.why
	case c.hasObserved(child.GroupKind):
		return unobserved
	case known.why == "":
		return ""
	case age < unobservedPeriod:
		c.recheck = max(unobservedPeriod-age, 1)
		return known.why
	}
	return ""
}

// hasOwnController reports whether a controller may carry out changes of an object. Pods and Jobs hardly ever
// change, a PersistentVolumeClaim may wait for the Pod that uses it, and a DaemonSet with OnDelete waits until
// others delete its Pods.
func hasOwnController(of *object.Object) bool {
	switch of.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "PersistentVolumeClaim"},
		schema.GroupKind{Group: "batch", Kind: "Job"}:
		return false
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return string(of.Lookup("spec", "updateStrategy", "type")) != `"OnDelete"`
	}
	return true
}

// computeStatus returns the reason why the status of an object does not show it as current; empty if it does,
// or if the form of the status is unknown.
func computeStatus(of *object.Object) string {
	content, err := of.Decode()
	if err != nil {
		return ""
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil || result.Status == status.CurrentStatus {
		return ""
	}
	return result.Message
}

// hasObserved reports whether a controller has observed any child of a kind.
func (c *children) hasObserved(kind schema.GroupKind) bool {
	if c.observedKinds == nil {
		c.observedKinds = map[schema.GroupKind]bool{}
		for _, child := range c.inOrder {
			if child.observed != nil && generationObserved(child.observed) > 0 {
				c.observedKinds[child.GroupKind] = true
			}
		}
	}
	return c.observedKinds[kind]
}

// hasConditions reports whether a status has conditions, which only controllers write.
func hasConditions(of *object.Object) bool {
	conditions := of.Lookup("status", "conditions")
	return conditions != nil && string(conditions) != "null" && string(conditions) != "[]"
}

// failedCheck is a status check that a child does not pass.
type failedCheck struct {
	v1alpha1.StatusConditionCheck
	// index is its index in the spec, of the name of the child, and why the reason of the failure.
	index   int
	of, why string
}

// advice names the status check in the spec that the child fails, and the conditions that it has instead. It is empty
// if the child fails no check; the child may be nil.
func (c *child) advice() string {
	if c == nil || c.failed == nil {
		return ""
	}
	check := fmt.Sprintf("%s.statusChecks.conditions[%d]", c.kind.Field, c.failed.index)
	if findCondition(c.observed.Lookup("status", "conditions"), c.failed.Type) != nil {
		return fmt.Sprintf("child %s failed status check: %s; %s requires it", c.failed.of, c.failed.why, check)
	}
	types := conditionTypes(c.observed)
	has, remedy := "none", "correct the type if it is misspelled"
	if len(types) > 0 {
		has = "only " + quoteAll(types)
	}
	if meant := nearest.To(c.failed.Type, types); meant != "" {
		remedy = fmt.Sprintf("did you mean %q?", meant)
	}
	return fmt.Sprintf("%s.type is %q, and %s has no such condition (it has %s): %s",
		check, c.failed.Type, c.failed.of, has, remedy)
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

// quoteAll quotes the types of conditions for a message.
func quoteAll(types []string) string { return text.JoinFirstFunc(maxListed, types, strconv.Quote) }
