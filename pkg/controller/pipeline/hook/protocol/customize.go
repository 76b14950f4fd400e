// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// RelatedRules reads the answer to a customize request.
func (d *Decoder) RelatedRules(answer []byte) (rules []pipeline.RelatedRule, err error) {
	err = d.read(answer, fields{
		"relatedResources": func(value []byte) (err error) {
			rules, err = d.rules(value)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return rules, nil
}

func (d *Decoder) rules(value []byte) ([]pipeline.RelatedRule, error) {
	if value[0] != '[' && string(value) != "null" {
		return nil, fmt.Errorf("relatedResources must be a list of rules, not %s", d.quote(value))
	}
	var rules []pipeline.RelatedRule
	err := object.Elements(value, func(index int, element []byte) error {
		if index >= maxRules {
			return fmt.Errorf("relatedResources has more than the maximum of %d rules", maxRules)
		}
		path := fmt.Sprintf("relatedResources[%d]", index)
		if element[0] != '{' {
			return fmt.Errorf("%s must be a rule, which is a JSON object, not %s", path, d.quote(element))
		}
		var written relatedRule
		found, err := json.UnmarshalStrict(element, &written)
		if err != nil {
			return fmt.Errorf("%s: %w", path, explainType(err))
		}
		d.strictErrors.addInRule(path, found)
		rule, err := written.resolve()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rules = append(rules, rule)
		return nil
	})
	return rules, err
}

// explainType names the field that has a value of the wrong type.
func explainType(err error) error {
	if wrong, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: a JSON %s is not allowed here", wrong.Field, wrong.Value)
	}
	return err
}

// relatedRule is a rule for related objects as hooks write it.
type relatedRule struct {
	APIVersion        string                `json:"apiVersion"`
	Resource          string                `json:"resource"`
	LabelSelector     *metav1.LabelSelector `json:"labelSelector"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	Namespace         string                `json:"namespace"`
	Names             []string              `json:"names"`
}

// resolve checks everything that needs no knowledge of the host's types.
func (r *relatedRule) resolve() (rule pipeline.RelatedRule, err error) {
	rule = pipeline.RelatedRule{APIVersion: r.APIVersion, Resource: r.Resource, Namespace: r.Namespace, Names: r.Names}
	switch {
	case r.APIVersion == "":
		return rule, errors.New(`apiVersion is missing; set it to "v1" for core types, or to "<group>/<version>"`)
	case r.Resource == "":
		return rule, errors.New(`resource is missing; set it to the plural of the type, such as "configmaps"`)
	case len(r.Names) > 0 && r.LabelSelector != nil:
		return rule, errors.New("names cannot be combined with labelSelector; use two rules")
	case len(r.Names) > 0 && r.NamespaceSelector != nil:
		return rule, errors.New("names cannot be combined with namespaceSelector; use namespace, or two rules")
	case r.Namespace != "" && r.NamespaceSelector != nil:
		return rule, errors.New("namespace cannot be combined with namespaceSelector; use two rules")
	}
	if _, err := schema.ParseGroupVersion(r.APIVersion); err != nil {
		return rule, fmt.Errorf(`apiVersion must be "v1" or "<group>/<version>", not %q`, r.APIVersion)
	}
	if rule.LabelSelector, err = selector(r.LabelSelector); err != nil {
		return rule, fmt.Errorf("labelSelector: %w", err)
	}
	if rule.NamespaceSelector, err = selector(r.NamespaceSelector); err != nil {
		return rule, fmt.Errorf("namespaceSelector: %w", err)
	}
	return rule, nil
}

// selector parses a selector of a hook. An empty selector selects everything.
func selector(written *metav1.LabelSelector) (labels.Selector, error) {
	if written == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(written)
}
