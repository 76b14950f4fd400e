// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// Lookup finds controllers and parents in a cluster. What it reads of the types of the cluster, it reads once.
type Lookup struct {
	client    versioned.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
	// namespace is where objects are that are given without one.
	namespace string
}

// New returns a Lookup in a cluster. The namespace is where objects are that are given without one.
func New(config *rest.Config, namespace string) (*Lookup, error) {
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	types, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(types)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	return &Lookup{client: client, discovery: cached, mapper: mapper, namespace: namespace}, nil
}

// Parent is the name of a parent.
type Parent struct {
	// Mapping is its type.
	Mapping         *meta.RESTMapping
	Namespace, Name string
}

// Parent returns the parent that an argument in the form TYPE/NAME names. It need not exist.
func (l *Lookup) Parent(argument string) (*Parent, error) {
	of, name, ok := strings.Cut(argument, "/")
	if !ok || of == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not in the form TYPE/NAME, such as website/shop", argument)
	}
	mapping, err := l.typeNamed(of)
	if err != nil {
		return nil, err
	}
	parent := &Parent{Mapping: mapping, Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		parent.Namespace = l.namespace
	}
	return parent, nil
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

// ParentOf returns the parent of a controller that an argument names: NAME, or TYPE/NAME.
func (l *Lookup) ParentOf(controller *Controller, argument string) (*v1alpha1.SyncReviewParent, error) {
	of, name, ok := strings.Cut(argument, "/")
	if !ok {
		of, name = "", argument
	}
	types, err := l.parentTypes(controller)
	if err != nil {
		return nil, err
	}
	var found []metav1.APIResource
	var names []string
	for _, known := range types {
		names = append(names, known.SingularName)
		if of == "" || isNamed(&known, strings.ToLower(of)) {
			found = append(found, known)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%s is for %s, not for %q", controller, strings.Join(names, ", "), of)
	case len(found) > 1:
		return nil, fmt.Errorf("%s is for %s: give the parent as TYPE/NAME", controller, strings.Join(names, ", "))
	}
	parent := &v1alpha1.SyncReviewParent{
		APIVersion: schema.GroupVersion{Group: found[0].Group, Version: found[0].Version}.String(), Kind: found[0].Kind, Name: name,
	}
	if found[0].Namespaced {
		parent.Namespace = l.namespace
	}
	return parent, nil
}

// ParentIn returns the parent that an argument names: of a controller, or without one in the form TYPE/NAME.
func (l *Lookup) ParentIn(controller *Controller, argument string) (*Parent, error) {
	if controller == nil {
		return l.Parent(argument)
	}
	named, err := l.ParentOf(controller, argument)
	if err != nil {
		return nil, err
	}
	version, err := schema.ParseGroupVersion(named.APIVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := l.mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: named.Kind}, version.Version)
	return &Parent{Mapping: mapping, Namespace: named.Namespace, Name: named.Name}, err
}

// callName is the form of names of HookCalls: a time and a suffix.
var callName = regexp.MustCompile(`^\d{8}-\d{6}-\d{6}-[0-9a-z]+$`)

// NamesCall reports whether an argument is the name of a HookCall.
func NamesCall(argument string) bool { return callName.MatchString(argument) }

// isNamed reports whether a type is meant by a name in lower case.
func isNamed(of *metav1.APIResource, name string) bool {
	if name == of.Name || name == of.SingularName || name == strings.ToLower(of.Kind) || name == of.Name+"."+of.Group || name == of.SingularName+"."+of.Group {
		return true
	}
	for _, short := range of.ShortNames {
		if name == short {
			return true
		}
	}
	return false
}

// parentTypes returns the types of the parents of a controller, as the cluster serves them.
func (l *Lookup) parentTypes(controller *Controller) ([]metav1.APIResource, error) {
	var types []metav1.APIResource
	for _, rule := range controller.ParentTypes() {
		list, err := l.discovery.ServerResourcesForGroupVersion(rule.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("read the types of %s: %w", rule.APIVersion, err)
		}
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		if err != nil {
			return nil, err
		}
		for _, served := range list.APIResources {
			if served.Name == rule.Resource {
				served.Group, served.Version = version.Group, version.Version
				types = append(types, served)
			}
		}
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("the cluster does not serve the parents of %s", controller)
	}
	return types, nil
}

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
		return nil, fmt.Errorf("no controller is for %s", parents)
	}
	return found, nil
}

// Complete returns the resource that an object of a file is of. An object of a namespaced type that has no
// namespace gets the one of the options.
func (l *Lookup) Complete(object *unstructured.Unstructured) (schema.GroupResource, error) {
	kind := object.GroupVersionKind()
	mapping, err := l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupResource{}, fmt.Errorf("the cluster has no type %s of %s", kind.Kind, kind.GroupVersion())
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(l.namespace)
	}
	return mapping.Resource.GroupResource(), nil
}
