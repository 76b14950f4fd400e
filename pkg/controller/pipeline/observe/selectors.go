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

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// generatedLabel is the label that generated selectors look for; its value is the
// parent's UID.
const generatedLabel = "controller-uid"

// LabelClaims finds the children of a CompositeController's parents: by a generated label
// or by those of the parent's spec.selector.
type LabelClaims struct {
	generate bool

	mu     sync.Mutex
	parsed map[pipeline.Key]parsedSelector
}

// parsedSelector is the selector that stands for text, which a parent had in a version.
type parsedSelector struct {
	version, text string
	selector      labels.Selector
}

// NewLabelClaims makes the claims of one controller.
func NewLabelClaims(generate bool) *LabelClaims {
	return &LabelClaims{generate: generate, parsed: map[pipeline.Key]parsedSelector{}}
}

// generated returns the labels that make a child match its parent's generated
// selector; nil if selectors are not generated.
func (l *LabelClaims) generated(parent *object.Object) map[string]string {
	if !l.generate {
		return nil
	}
	return map[string]string{generatedLabel: string(parent.UID)}
}

// selectorOf returns the selector of a parent. The error says what is wrong with its
// spec.selector.
func (l *LabelClaims) selectorOf(parent *object.Object) (labels.Selector, error) {
	if l.generate {
		return labels.SelectorFromSet(l.generated(parent)), nil
	}
	key := pipeline.KeyOf(parent)
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.parsed[key]
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
	l.parsed[key] = known
	return known.selector, nil
}

// Forget drops what is known of a parent that is gone.
func (l *LabelClaims) Forget(parent pipeline.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.parsed, parent)
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
