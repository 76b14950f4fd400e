// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// LabelClaims finds the children of a CompositeController's parents by labels: by the parent's
// spec.selector, or by a label that is generated for each parent.
type LabelClaims struct {
	generate bool

	mu     sync.Mutex
	parsed map[object.Key]parsedSelector
}

// parsedSelector is the selector of a parent at a resource version, parsed from text.
type parsedSelector struct {
	version, text string
	selector      labels.Selector
}

// NewLabelClaims returns the claims of one controller. They generate a label for each parent, or
// read its spec.selector.
func NewLabelClaims(generate bool) *LabelClaims {
	return &LabelClaims{generate: generate, parsed: map[object.Key]parsedSelector{}}
}

// Prepare adds the parent's selector to the snapshot. It returns an error if the selector is not usable.
func (c *LabelClaims) Prepare(snapshot *pipeline.Snapshot) (err error) {
	snapshot.GeneratedLabels = c.generatedLabels(snapshot.Parent)
	snapshot.Selector, err = c.selectorOf(snapshot.Parent)
	return err
}

// Claim returns the parent's children of a type. An object that the parent controls is a child
// if the parent's selector matches it, and is released otherwise. An orphan that the selector
// matches is adopted, unless it is the parent itself or an owner of the parent. An orphan of the parent's own type is
// hidden from the hook, because it may be another parent with the same labels. A parent that is being deleted neither
// adopts nor releases.
func (c *LabelClaims) Claim(snapshot *pipeline.Snapshot, view *cache.View) pipeline.Group {
	parent := snapshot.Parent
	return claim(view.Type, snapshot, view.ControlledBy(parent.UID), c.orphansFor(parent, view))
}

func claim(of object.Type, snapshot *pipeline.Snapshot, controlled, orphans []*object.Object) pipeline.Group {
	parent, selector := snapshot.Parent, snapshot.Selector
	group := pipeline.Group{Type: of, Claimed: make([]*object.Object, 0, len(controlled))}
	alive := parent.DeletionTimestamp == nil
	for _, child := range controlled {
		switch {
		case isAttachment(child), child.UID == parent.UID:
		case parent.Namespace != "" && child.Namespace != parent.Namespace:
		case selector.Matches(labels.Set(child.Labels)):
			group.Claimed = append(group.Claimed, child)
			if alive && namesOtherVersion(child, snapshot.ParentType) {
				group.Adopt = append(group.Adopt, child)
			}
		case alive:
			group.Release = append(group.Release, child)
		}
	}
	for _, orphan := range orphans {
		if alive && orphan.DeletionTimestamp == nil && !isAttachment(orphan) && !isSelfOrOwner(orphan, parent) &&
			selector.Matches(labels.Set(orphan.Labels)) {
			group.Adopt = append(group.Adopt, orphan)
			if of.GroupKind() == snapshot.ParentType.GroupKind() {
				group.Kept = append(group.Kept, orphan)
			} else {
				group.Claimed = append(group.Claimed, orphan)
			}
		}
	}
	slices.SortFunc(group.Claimed, byName)
	slices.SortFunc(group.Adopt, byName)
	slices.SortFunc(group.Release, byName)
	return group
}

// MayClaim reports whether an object that a parent controls may be its child. Attachments of decorators are not
// children, although a parent may control them.
func (c *LabelClaims) MayClaim(child *object.Object) bool { return !isAttachment(child) }

// MayAdopt reports whether a parent may adopt the orphan: it is not an attachment, and a selector can match it.
func (c *LabelClaims) MayAdopt(orphan *object.Object) bool {
	return !isAttachment(orphan) && (!c.generate || orphan.Labels[generatedLabel] != "")
}

// Adopters returns the parents whose selector may match the orphan.
func (c *LabelClaims) Adopters(parents *cache.View, orphan *object.Object) []*object.Object {
	if c.generate {
		return parentsWithUID(parents, orphan)
	}
	return parentsBySelector(parents, orphan)
}

// Adopts reports whether the parent adopts the orphan because its selector matches it. An orphan of the parent's own
// type is adopted only when the hook lists it, so it does not start a sync.
func (c *LabelClaims) Adopts(parent, orphan *object.Object) bool {
	if parent.GroupVersionKind().GroupKind() == orphan.GroupVersionKind().GroupKind() {
		return false
	}
	selector, err := c.selectorOf(parent)
	return err == nil && !isSelfOrOwner(orphan, parent) && selector.Matches(labels.Set(orphan.Labels))
}

// Forget drops the parsed selector of a parent that is gone.
func (c *LabelClaims) Forget(parent object.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.parsed, parent)
}

// Fresh returns claims with the same rules and an empty cache.
func (c *LabelClaims) Fresh() Claims { return NewLabelClaims(c.generate) }

// generatedLabel is the label that generated selectors match. Its value is the parent's UID.
const generatedLabel = object.GeneratedLabel

// generatedLabels returns the labels that make a child match its parent's generated selector; nil if selectors
// are not generated.
func (c *LabelClaims) generatedLabels(parent *object.Object) map[string]string {
	if !c.generate {
		return nil
	}
	return map[string]string{generatedLabel: string(parent.UID)}
}

// selectorOf returns the selector of a parent. The error says what is wrong with its
// spec.selector.
func (c *LabelClaims) selectorOf(parent *object.Object) (labels.Selector, error) {
	if c.generate {
		return labels.SelectorFromSet(c.generatedLabels(parent)), nil
	}
	key := object.KeyOf(parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	parsed, ok := c.parsed[key]
	if ok && parsed.version == parent.ResourceVersion {
		return parsed.selector, nil
	}
	text := parent.Lookup("spec", "selector")
	if !ok || parsed.text != string(text) {
		selector, err := parseSelector(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", parent, err)
		}
		parsed = parsedSelector{text: string(text), selector: selector}
	}
	parsed.version = parent.ResourceVersion
	c.parsed[key] = parsed
	return parsed.selector, nil
}

func parseSelector(text []byte) (labels.Selector, error) {
	var spec *metav1.LabelSelector
	if text != nil {
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, fmt.Errorf(".spec.selector is not a label selector: %w", explainSelector(err))
		}
	}
	if spec == nil || len(spec.MatchLabels) == 0 && len(spec.MatchExpressions) == 0 {
		return nil, errors.New("it has no spec.selector with matchLabels or matchExpressions: " +
			"set spec.generateSelector: true in the controller, or give it one")
	}
	selector, err := metav1.LabelSelectorAsSelector(spec)
	if err != nil {
		return nil, fmt.Errorf(".spec.selector: %w", err)
	}
	return selector, nil
}

// explainSelector names the field of a selector that has a value of the wrong type.
func explainSelector(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err
	case wrong.Field == "":
		return fmt.Errorf("it must be an object, not a JSON %s", wrong.Value)
	}
	return fmt.Errorf("a JSON %s is not allowed in %s", wrong.Value, wrong.Field)
}

// The indexes below find orphans, and the parents that may adopt them, without a look at all objects of a namespace:
// a namespace may have many objects that do not concern the controller.

// orphansByGeneratedLabel finds orphans by the value of the label that generated selectors match.
var orphansByGeneratedLabel = cache.Index{Name: "orphan/" + generatedLabel, Values: func(o *object.Object) []string {
	value := o.Labels[generatedLabel]
	if value == "" || metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	return []string{value}
}}

// orphansFor returns the orphans that the parent's selector may match.
func (c *LabelClaims) orphansFor(parent *object.Object, view *cache.View) []*object.Object {
	if !c.generate {
		return view.Orphans(parent.Namespace)
	}
	found := view.By(orphansByGeneratedLabel, string(parent.UID))
	return slices.DeleteFunc(found, func(orphan *object.Object) bool {
		return parent.Namespace != "" && orphan.Namespace != parent.Namespace
	})
}

// parentsByUID finds parents by their UID.
var parentsByUID = cache.Index{Name: "uid", Values: func(o *object.Object) []string { return []string{string(o.UID)} }}

// parentsWithUID returns the parent whose UID is the value of an orphan's generated label, if it may adopt the
// orphan.
func parentsWithUID(parents *cache.View, orphan *object.Object) []*object.Object {
	found := parents.By(parentsByUID, orphan.Labels[generatedLabel])
	return slices.DeleteFunc(found, func(parent *object.Object) bool {
		return parent.Namespace != namespaceFor(parents, orphan)
	})
}

// parentsByRequirement finds parents by their namespace and by the key and a value of a label that their
// spec.selector requires. It finds parents by their namespace alone if the selector does not require a value of
// any label.
var parentsByRequirement = cache.Index{Name: "spec.selector", Values: func(parent *object.Object) []string {
	selector, err := parseSelector(parent.Lookup("spec", "selector"))
	if err != nil {
		return nil // the parent adopts nothing
	}
	required := narrowest(selector)
	if required == nil {
		return []string{requirementKey(parent.Namespace)}
	}
	keys := make([]string, 0, required.Values().Len())
	for value := range required.Values() {
		keys = append(keys, requirementKey(parent.Namespace, required.Key(), value))
	}
	return keys
}}

// narrowest returns the requirement of a selector that allows the fewest values of a label; nil if no
// requirement lists values.
func narrowest(selector labels.Selector) *labels.Requirement {
	var found *labels.Requirement
	requirements, _ := selector.Requirements()
	for i := range requirements {
		requirement := &requirements[i]
		switch requirement.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if found == nil || requirement.Values().Len() < found.Values().Len() {
				found = requirement
			}
		}
	}
	return found
}

// requirementKey returns the value of the index for a namespace, and a label with its value.
func requirementKey(namespace string, label ...string) string {
	key := namespace
	for _, part := range label {
		key += "\x00" + part // no name contains this byte
	}
	return key
}

// parentsBySelector returns the parents whose spec.selector may match an orphan.
func parentsBySelector(parents *cache.View, orphan *object.Object) []*object.Object {
	namespace := namespaceFor(parents, orphan)
	found := parents.By(parentsByRequirement, requirementKey(namespace))
	for key, value := range orphan.Labels {
		found = append(found, parents.By(parentsByRequirement, requirementKey(namespace, key, value))...)
	}
	return found
}

// namespaceFor returns the namespace of the parents that may adopt an orphan.
func namespaceFor(parents *cache.View, orphan *object.Object) string {
	if !parents.Type.Namespaced {
		return ""
	}
	return orphan.Namespace
}
