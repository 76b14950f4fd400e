// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// generatedLabel is the label that generated selectors look for; its value is the
// parent's UID.
const generatedLabel = "controller-uid"

// Selectors knows by which labels a parent's children are found: by a generated one
// or by those of the parent's spec.selector.
type Selectors struct {
	generate bool

	mu     sync.Mutex
	parsed map[types.NamespacedName]parsedSelector
}

// parsedSelector is the selector that stands for text, which a parent had in a version.
type parsedSelector struct {
	version, text string
	selector      labels.Selector
}

// NewSelectors makes the selectors of one controller.
func NewSelectors(generate bool) *Selectors {
	return &Selectors{generate: generate, parsed: map[types.NamespacedName]parsedSelector{}}
}

// Generated returns the labels that make a child match its parent's generated
// selector; nil if selectors are not generated.
func (s *Selectors) Generated(parent *object.Object) map[string]string {
	if !s.generate {
		return nil
	}
	return map[string]string{generatedLabel: string(parent.UID)}
}

// mayMatch tells whether any parent's selector can match the child.
func (s *Selectors) mayMatch(child *object.Object) bool {
	return !s.generate || child.Labels[generatedLabel] != ""
}

// Of returns the selector of a parent. The error says what is wrong with its
// spec.selector.
func (s *Selectors) Of(parent *object.Object) (labels.Selector, error) {
	if s.generate {
		return labels.SelectorFromSet(s.Generated(parent)), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.parsed[parent.Key()]
	if ok && known.version == parent.ResourceVersion {
		return known.selector, nil
	}
	text := parent.Lookup("spec", "selector")
	if !ok || known.text != string(text) {
		selector, err := parseSelector(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", parent, err)
		}
		known = parsedSelector{text: string(text), selector: selector}
	}
	known.version = parent.ResourceVersion
	s.parsed[parent.Key()] = known
	return known.selector, nil
}

// Forget drops what is known of a parent that is gone.
func (s *Selectors) Forget(parent types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parsed, parent)
}

func parseSelector(text []byte) (labels.Selector, error) {
	var spec *metav1.LabelSelector
	if text != nil {
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, fmt.Errorf(".spec.selector is no label selector: %w", err)
		}
	}
	if spec == nil || len(spec.MatchLabels) == 0 && len(spec.MatchExpressions) == 0 {
		return nil, errors.New(".spec.selector must have either matchLabels, matchExpressions, or both " +
			"(or the controller must set spec.generateSelector)")
	}
	selector, err := metav1.LabelSelectorAsSelector(spec)
	if err != nil {
		return nil, fmt.Errorf(".spec.selector: %w", err)
	}
	return selector, nil
}
