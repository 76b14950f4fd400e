// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// relatedRule is a rule as hooks write it.
type relatedRule struct {
	APIVersion        string                `json:"apiVersion"`
	Resource          string                `json:"resource"`
	LabelSelector     *metav1.LabelSelector `json:"labelSelector"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	Namespace         string                `json:"namespace"`
	Names             []string              `json:"names"`
}

// resolve checks what can be checked without knowing the host's types.
func (r *relatedRule) resolve() (rule pipeline.RelatedRule, err error) {
	rule = pipeline.RelatedRule{APIVersion: r.APIVersion, Resource: r.Resource, Namespace: r.Namespace, Names: r.Names}
	switch {
	case r.APIVersion == "":
		return rule, errors.New(`apiVersion is missing; it is "v1" for core types, else "<group>/<version>"`)
	case r.Resource == "":
		return rule, errors.New(`resource is missing; it is the plural of the type, such as "configmaps"`)
	case len(r.Names) > 0 && r.LabelSelector != nil:
		return rule, errors.New("names cannot be combined with labelSelector; use two rules")
	case len(r.Names) > 0 && r.NamespaceSelector != nil:
		return rule, errors.New("names cannot be combined with namespaceSelector; use namespace, or two rules")
	case r.Namespace != "" && r.NamespaceSelector != nil:
		return rule, errors.New("namespace cannot be combined with namespaceSelector; use two rules")
	}
	if _, err := schema.ParseGroupVersion(r.APIVersion); err != nil {
		return rule, fmt.Errorf("apiVersion: %w", err)
	}
	if rule.LabelSelector, err = selector(r.LabelSelector); err != nil {
		return rule, fmt.Errorf("labelSelector: %w", err)
	}
	if rule.NamespaceSelector, err = selector(r.NamespaceSelector); err != nil {
		return rule, fmt.Errorf("namespaceSelector: %w", err)
	}
	return rule, nil
}

// selector is what a hook wrote as a selector; one that is empty selects everything.
func selector(written *metav1.LabelSelector) (labels.Selector, error) {
	if written == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(written)
}
