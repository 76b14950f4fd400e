// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// rule is a rule of a hook's answer with its type, narrowed to what the hook may see. It selects an
// object that meets all conditions.
type rule struct {
	parent object.Key
	of     object.Type
	// within are the namespaces that the object may be in; none allows all.
	within []string
	// names are the names that the object may have; none allows all.
	names []string
	// labels selects objects by their labels, and namespaces by the labels of their namespace. Nil
	// selects all.
	labels, namespaces labels.Selector
	// in is the type of namespaces, if the rule selects by their labels.
	in object.Type
}

// typed is a rule as the hook wrote it, with its type and the type of namespaces.
type typed struct {
	pipeline.RelatedRule
	of, in object.Type
}

// ResolveFunc returns a type of the host. See discovery.Discovery.
type ResolveFunc func(ctx context.Context, apiVersion, resource string) (object.Type, error)

// find returns the rules with the types that they name.
func (resolve ResolveFunc) find(ctx context.Context, written []pipeline.RelatedRule) ([]typed, error) {
	found := make([]typed, len(written))
	for i, rule := range written {
		of, err := resolve(ctx, rule.APIVersion, rule.Resource)
		if err != nil {
			return nil, ruleError(i, rule, err)
		}
		found[i] = typed{RelatedRule: rule, of: of}
		if rule.NamespaceSelector == nil {
			continue
		}
		if found[i].in, err = resolve(ctx, "v1", "namespaces"); err != nil {
			return nil, ruleError(i, rule, err)
		}
	}
	return found, nil
}

func sameTypes(a, b typed) bool { return a.of == b.of && a.in == b.in }

func ruleError(index int, rule pipeline.RelatedRule, err error) error {
	return fmt.Errorf("customize hook: relatedResources[%d] (%s in %s): %w", index, rule.Resource, rule.APIVersion, err)
}

// narrow returns the rules that a hook wrote about a parent in the form in which they select. With a
// confinement, rules about namespaced objects select only in the namespace of a namespaced parent. Rules of
// a controller that is limited to namespaces select only in these.
func (c *Config) narrow(parent *object.Object, written []typed) ([]*rule, error) {
	confinement := c.Confinement
	if parent.Namespace == "" {
		confinement = ""
	}
	rules := make([]*rule, len(written))
	for i, one := range written {
		narrowed, err := one.narrow(parent, confinement)
		if err == nil {
			err = narrowed.limitTo(c.Namespaces)
		}
		if err != nil {
			return nil, ruleError(i, one.RelatedRule, err)
		}
		rules[i] = narrowed
	}
	return rules, nil
}

func (t typed) narrow(parent *object.Object, confinement string) (*rule, error) {
	narrowed := &rule{
		parent: object.KeyOf(parent), of: t.of, names: t.Names,
		labels: t.LabelSelector, namespaces: t.NamespaceSelector, in: t.in,
	}
	if !t.of.Namespaced {
		if t.NamespaceSelector != nil {
			return nil, fmt.Errorf("namespaceSelector is for namespaced types, and %s is cluster-scoped", t.of)
		}
		return narrowed, nil // such objects are in no namespace
	}
	if t.Namespace != "" {
		narrowed.within = []string{t.Namespace}
	}
	if confinement == "" {
		return narrowed, nil
	}
	if t.NamespaceSelector != nil {
		return nil, errors.New("namespaceSelector selects among namespaces: " + confinement)
	}
	if t.Namespace != "" && t.Namespace != parent.Namespace {
		return nil, fmt.Errorf("namespace %q is not the parent's, which is %q: %s", t.Namespace, parent.Namespace, confinement)
	}
	narrowed.within = []string{parent.Namespace}
	return narrowed, nil
}

// limitTo narrows the rule to namespaces. The error says why it asks for objects that are in none of them.
func (r *rule) limitTo(namespaces object.Namespaces) error {
	switch {
	case namespaces.All():
		return nil
	case !r.of.Namespaced:
		return fmt.Errorf("spec.namespaces limits the controller to objects in namespaces, and %s is cluster-scoped", r.of)
	case len(r.within) == 0:
		r.within = namespaces.Names()
		return nil
	case !namespaces.Has(r.within[0]):
		return fmt.Errorf("namespace %q is not one of spec.namespaces, which limits the controller to %s", r.within[0], strings.Join(namespaces.Names(), ", "))
	}
	return nil
}

// needs returns the types that the rule needs a view of.
func (r *rule) needs() []object.Type {
	if r.namespaces != nil {
		return []object.Type{r.of, r.in}
	}
	return []object.Type{r.of}
}

// selects reports whether the rule, which is about the object's type, selects the object. LabelsOf
// returns the labels of a namespace.
func (r *rule) selects(o *object.Object, labelsOf func(namespace string) labels.Set) bool {
	return (len(r.within) == 0 || slices.Contains(r.within, o.Namespace)) &&
		(len(r.names) == 0 || slices.Contains(r.names, o.Name)) &&
		(r.labels == nil || r.labels.Matches(labels.Set(o.Labels))) &&
		(r.namespaces == nil || r.namespaces.Matches(labelsOf(o.Namespace)))
}
