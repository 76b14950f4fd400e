// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// rule is a rule of a hook's answer with its type, narrowed to the objects that the hook may see. It selects the
// objects that meet all of its conditions.
type rule struct {
	parent object.Key
	of     object.Type
	// within are the namespaces that the object may be in; none allows all.
	within []string
	// names are the names that the object may have; none allows all.
	names []string
	// labels selects objects by their labels, and namespaces by the labels of their namespace. Nil selects all.
	labels, namespaces labels.Selector
	// namespaceType is the type of namespaces if the rule selects by their labels.
	namespaceType object.Type
}

// typed is a rule as the hook wrote it, with its type and the type of namespaces.
type typed struct {
	pipeline.RelatedRule
	of, namespaceType object.Type
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
		if found[i].namespaceType, err = resolve(ctx, "v1", "namespaces"); err != nil {
			return nil, ruleError(i, rule, err)
		}
	}
	return found, nil
}

func sameTypes(a, b typed) bool { return a.of == b.of && a.namespaceType == b.namespaceType }

func ruleError(index int, rule pipeline.RelatedRule, err error) error {
	return fmt.Errorf("customize hook: relatedResources[%d] (%s in %s): %w", index, rule.Resource, rule.APIVersion, err)
}

// narrow returns the rules that a hook wrote for a parent, narrowed to the objects that the hook may see. With a
// confinement, rules for namespaced objects select only in the namespace of a namespaced parent. Rules of a controller
// that is limited to namespaces select only in these.
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
		labels: t.LabelSelector, namespaces: t.NamespaceSelector, namespaceType: t.namespaceType,
	}
	if !t.of.Namespaced {
		if t.NamespaceSelector != nil {
			return nil, fmt.Errorf("namespaceSelector is for namespaced types, and %s is cluster-scoped", t.of)
		}
		return narrowed, nil // cluster-scoped objects need no confinement
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
		return nil, fmt.Errorf("namespace %q is not the namespace of the parent, %q: %s",
			t.Namespace, parent.Namespace, confinement)
	}
	narrowed.within = []string{parent.Namespace}
	return narrowed, nil
}

// limitTo narrows the rule to namespaces. It returns an error if the rule selects only objects outside them.
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
		return fmt.Errorf("namespace %q is not one of spec.namespaces, which limits the controller to %s",
			r.within[0], strings.Join(namespaces.Names(), ", "))
	}
	return nil
}

// needs returns the types that the rule needs a view of.
func (r *rule) needs() []object.Type {
	if r.namespaces != nil {
		return []object.Type{r.of, r.namespaceType}
	}
	return []object.Type{r.of}
}

// selects reports whether the rule selects an object of its type. The function labelsOf returns the labels of a
// namespace.
func (r *rule) selects(o *object.Object, labelsOf func(namespace string) labels.Set) bool {
	return (len(r.within) == 0 || slices.Contains(r.within, o.Namespace)) &&
		(len(r.names) == 0 || slices.Contains(r.names, o.Name)) &&
		(r.labels == nil || r.labels.Matches(labels.Set(o.Labels))) &&
		(r.namespaces == nil || r.namespaces.Matches(labelsOf(o.Namespace)))
}

// typesLast is the time for which a resolved type is not looked up again. Discovery does not cache types whose
// definitions have just changed. When the process starts, these are all types, and the syncs of a thousand parents
// would send a thousand requests to the host.
const typesLast = time.Second

// cacheTypes returns a function that resolves types like resolve, and caches each of them for typesLast.
func cacheTypes(resolve ResolveFunc) ResolveFunc {
	type name struct{ apiVersion, resource string }
	type found struct {
		object.Type
		at time.Time
	}
	var mu sync.Mutex
	known := map[name]found{}
	return func(ctx context.Context, apiVersion, resource string) (object.Type, error) {
		name := name{apiVersion, resource}
		mu.Lock()
		last, ok := known[name]
		mu.Unlock()
		if ok && time.Since(last.at) < typesLast {
			return last.Type, nil
		}
		of, err := resolve(ctx, apiVersion, resource)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			delete(known, name)
			return of, err
		}
		known[name] = found{of, time.Now()}
		return of, nil
	}
}

// restriction has the types that a customize hook may ask for; an empty one allows any type. It allows all
// versions of a type, because they show the same objects.
type restriction []v1alpha1.ResourceRule

// check returns an error if a rule asks for another type.
func (r restriction) check(written []pipeline.RelatedRule) error {
	for i, rule := range written {
		isAllowed := func(allowed v1alpha1.ResourceRule) bool { return sameResource(allowed, rule) }
		if len(r) > 0 && !slices.ContainsFunc(r, isAllowed) {
			return ruleError(i, rule, fmt.Errorf("the controller limits the types that its customize hook may select; add "+
				"{apiVersion: %s, resource: %s} to spec.relatedResources, or remove the rule from the hook's answer",
				rule.APIVersion, rule.Resource))
		}
	}
	return nil
}

func sameResource(allowed v1alpha1.ResourceRule, rule pipeline.RelatedRule) bool {
	if allowed.APIVersion == rule.APIVersion {
		return allowed.Resource == rule.Resource
	}
	a, errA := schema.ParseGroupVersion(allowed.APIVersion)
	b, errB := schema.ParseGroupVersion(rule.APIVersion)
	return errA == nil && errB == nil && a.Group == b.Group && allowed.Resource == rule.Resource
}

// notShown returns a warning about each rule that selects only objects that some hooks do not see. Such a rule
// is not an error: Metacontroller accepts it and sends an empty group.
func (c *Config) notShown(parent *object.Object, rules []typed) (warnings []pipeline.Warning) {
	if c.NotShown == "" || parent.Namespace == "" {
		return nil
	}
	for i, rule := range rules {
		what := ""
		switch {
		case !rule.of.Namespaced:
			what = fmt.Sprintf("%s is cluster-scoped", rule.of)
		case rule.Namespace != "" && rule.Namespace != parent.Namespace:
			what = fmt.Sprintf("namespace %q is not the namespace of the parent", rule.Namespace)
		default:
			continue
		}
		warnings = append(warnings, pipeline.Warning{
			Reason: v1alpha1.ReasonRelatedNotShown, About: fmt.Sprintf("%d %s", i, rule.of),
			Message: fmt.Sprintf("relatedResources[%d] (%s in %s) of the customize hook: %s, and %s",
				i, rule.Resource, rule.APIVersion, what, c.NotShown),
		})
	}
	return warnings
}
