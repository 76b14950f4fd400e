// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup finds the controllers and parents in arguments and files, and the children of a parent. It returns
// controllers, with the stored spec or the spec of a file, names of parents, and children as objects. It reads
// controllers, types and children from the cluster.
package lookup

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// Lookup finds controllers and parents in a cluster.
type Lookup struct {
	client versioned.Interface
	mapper meta.RESTMapper
	// namespace is the default namespace.
	namespace string
}

// New returns a Lookup in the cluster of the flags, with their namespace as the default.
func New(getter genericclioptions.RESTClientGetter) (*Lookup, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	namespace, _, err := getter.ToRawKubeConfigLoader().Namespace()
	return &Lookup{client: client, mapper: mapper, namespace: namespace}, err
}

// Parent identifies a parent.
type Parent struct {
	// Mapping is the type of the parent.
	Mapping         *meta.RESTMapping
	Namespace, Name string
}

// Parent returns the parent of an argument in the form TYPE/NAME. It does not have to exist.
func (l *Lookup) Parent(argument string) (*Parent, error) {
	of, name, ok := strings.Cut(argument, "/")
	if !ok || of == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not in the form TYPE/NAME, such as website/shop", argument)
	}
	mapping, err := l.typeNamed(of)
	if err != nil {
		return nil, err
	}
	return l.parent(mapping, name), nil
}

func (l *Lookup) parent(of *meta.RESTMapping, name string) *Parent {
	parent := &Parent{Mapping: of, Name: name}
	if of.Scope.Name() == meta.RESTScopeNameNamespace {
		parent.Namespace = l.namespace
	}
	return parent
}

// ParentIn returns the parent that an argument names: NAME or TYPE/NAME behind a controller, TYPE/NAME without one.
func (l *Lookup) ParentIn(controller *Controller, argument string) (*Parent, error) {
	if controller == nil {
		return l.Parent(argument)
	}
	name, rules := argument, controller.ParentTypes()
	if of, after, typed := strings.Cut(argument, "/"); typed {
		named, err := l.Parent(argument)
		if err != nil {
			return nil, err
		}
		name, rules = after, slices.DeleteFunc(slices.Clone(rules), func(rule v1alpha1.ResourceRule) bool {
			return rule.GroupResource() != named.Mapping.Resource.GroupResource()
		})
		if len(rules) == 0 {
			return nil, fmt.Errorf("the parents of %s are %s, not %q", controller, TypeNames(controller.ParentTypes()), of)
		}
	}
	if len(rules) != 1 {
		return nil, fmt.Errorf("the parents of %s are %s: specify the parent as TYPE/NAME", controller,
			TypeNames(controller.ParentTypes()))
	}
	mapping, err := l.typeOf(rules[0])
	if err != nil {
		return nil, fmt.Errorf("read the type of the parents of %s: %w", controller, err)
	}
	return l.parent(mapping, name), nil
}

// typeOf returns the type of the cluster that a rule names, in the version that the rule names.
func (l *Lookup) typeOf(rule v1alpha1.ResourceRule) (*meta.RESTMapping, error) {
	version, err := schema.ParseGroupVersion(rule.APIVersion)
	if err != nil {
		return nil, err
	}
	kind, err := l.mapper.KindFor(version.WithResource(rule.Resource))
	if err != nil {
		return nil, err
	}
	return l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// TypeNames returns the names of the types of rules, separated by commas.
func TypeNames(rules []v1alpha1.ResourceRule) string {
	var names []string
	for _, rule := range rules {
		names = append(names, rule.GroupResource().String())
	}
	return strings.Join(names, ", ")
}

// typeNamed returns the type of the cluster that is given as kubectl takes it: websites, website, or a short name, and
// behind a dot, if that is needed, its group or its version and group.
func (l *Lookup) typeNamed(argument string) (*meta.RESTMapping, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(argument))
	if full != nil {
		if kind, err := l.mapper.KindFor(*full); err == nil {
			return l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		}
	}
	kind, err := l.mapper.KindFor(resource.WithVersion(""))
	if err != nil {
		return nil, fmt.Errorf("the cluster has no type %q", argument)
	}
	return l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// InReview returns the parent as reviews name it.
func (p *Parent) InReview() *v1alpha1.SyncReviewParent {
	version, kind := p.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return &v1alpha1.SyncReviewParent{APIVersion: version, Kind: kind, Namespace: p.Namespace, Name: p.Name}
}

// callName is the form of names of HookCalls: a time and a suffix.
var callName = regexp.MustCompile(`^\d{8}-\d{6}-\d{6}-[0-9a-z]+$`)

// NamesCall reports whether an argument is the name of a HookCall.
func NamesCall(argument string) bool { return callName.MatchString(argument) }

// ControllersOf returns the controllers whose parents are of a type, CompositeControllers first.
func (l *Lookup) ControllersOf(ctx context.Context, parents schema.GroupResource) ([]*Controller, error) {
	all, err := l.Controllers(ctx)
	if err != nil {
		return nil, err
	}
	var found []*Controller
	for _, controller := range all {
		if controller.IsFor(parents) {
			found = append(found, controller)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no controller handles %s", parents)
	}
	return found, nil
}

// Complete returns the resource that an object of a file is of. An object of a namespaced type that has no
// namespace gets the one of the options.
func (l *Lookup) Complete(object *unstructured.Unstructured) (schema.GroupResource, error) {
	kind := object.GroupVersionKind()
	mapping, err := l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupResource{}, fmt.Errorf(
			"the cluster does not serve the type %s in %s", kind.Kind, kind.GroupVersion())
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(l.namespace)
	}
	return mapping.Resource.GroupResource(), nil
}
