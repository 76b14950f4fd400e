// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "k8s.io/apimachinery/pkg/labels"

// RelatedRule is one rule of a customize hook's answer: which objects the parent's other
// hooks are to be shown. Names go with no selector, and Namespace not with
// NamespaceSelector. A rule that narrows nothing down asks for all objects of the type.
type RelatedRule struct {
	// APIVersion and Resource name the type of the objects, whether the host has it or
	// not.
	APIVersion, Resource string
	// LabelSelector selects objects by their labels; nil where the rule has none.
	LabelSelector labels.Selector
	// NamespaceSelector selects objects by the labels of their namespaces; nil where the
	// rule has none.
	NamespaceSelector labels.Selector
	// Namespace is the one namespace the objects are in; empty names none.
	Namespace string
	// Names are the names the objects may have; none allows any.
	Names []string
}
