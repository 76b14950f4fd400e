// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// byParent is the name of the index by the resource of parents, and byTenant that by the namespaces of tenantsOf.
const byParent, byTenant = "parent", "tenant"

// ParentIndex indexes CompositeControllers by the resource of their parents, and all controllers by the namespaces of
// the tenants to which they belong. It is empty until Run has filled it.
type ParentIndex struct {
	indexer, decorators atomic.Pointer[cache.Indexer]
}

// Run watches the controllers of the server itself. It returns when the context has ended
// and the watch has stopped.
func (p *ParentIndex) Run(ctx context.Context, loopback *rest.Config) error {
	client, err := versioned.NewForConfig(loopback)
	if err != nil {
		return fmt.Errorf("create a client for this server's API: %w", err)
	}
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0,
		externalversions.WithTransform(trimToParent))
	informer := factory.Metacontroller().V1alpha1().CompositeControllers().Informer()
	if err := informer.AddIndexers(cache.Indexers{byParent: parentResource, byTenant: tenants}); err != nil {
		return err
	}
	decorators := factory.Metacontroller().V1alpha1().DecoratorControllers().Informer()
	if err := decorators.AddIndexers(cache.Indexers{byTenant: tenants}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, decorators.HasSynced) {
		indexer, ofDecorators := informer.GetIndexer(), decorators.GetIndexer()
		p.indexer.Store(&indexer)
		p.decorators.Store(&ofDecorators)
	}
	<-ctx.Done()
	return nil
}

// trimToParent drops everything of a controller but its name, its parents, its namespaces and its service account.
func trimToParent(object any) (any, error) {
	if whole, ok := object.(*v1alpha1.DecoratorController); ok {
		return &v1alpha1.DecoratorController{
			ObjectMeta: metav1.ObjectMeta{Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion},
			Spec:       v1alpha1.DecoratorControllerSpec{Access: trimAccess(&whole.Spec.Access)},
		}, nil
	}
	whole, ok := object.(*v1alpha1.CompositeController)
	if !ok {
		return object, nil // a cache.DeletedFinalStateUnknown
	}
	return &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: whole.Spec.ParentResource,
			Access:         trimAccess(&whole.Spec.Access),
		},
	}, nil
}

func trimAccess(access *v1alpha1.Access) v1alpha1.Access {
	return v1alpha1.Access{Namespaces: access.Namespaces, ServiceAccount: access.ServiceAccount}
}

// tenants is the index function of byTenant.
func tenants(object any) ([]string, error) {
	switch object := object.(type) {
	case *v1alpha1.CompositeController:
		return tenantsOf(object.Spec.Access), nil
	case *v1alpha1.DecoratorController:
		return tenantsOf(object.Spec.Access), nil
	}
	return nil, nil
}

// tenantsOf returns the namespaces whose tenants a controller belongs to: the namespace of its service account, or else
// the namespaces that it is limited to. A controller without any has an author with rights in the entire cluster.
func tenantsOf(access v1alpha1.Access) []string {
	if account := access.ServiceAccount; account != nil {
		return []string{account.Namespace}
	}
	return access.Namespaces
}

// count returns how many controllers belong to the tenant of a namespace, as far as that is known.
func (p *ParentIndex) count(namespace string) (count int) {
	for _, of := range []*atomic.Pointer[cache.Indexer]{&p.indexer, &p.decorators} {
		if known := of.Load(); known != nil {
			keys, _ := (*known).IndexKeys(byTenant, namespace) // there is such an index
			count += len(keys)
		}
	}
	return count
}

// parentResource is the index function of byParent.
func parentResource(object any) ([]string, error) {
	parents := object.(*v1alpha1.CompositeController).Spec.ParentResource
	version, err := schema.ParseGroupVersion(parents.APIVersion)
	if err != nil {
		return nil, nil // it cannot run and has no parents
	}
	return []string{schema.GroupResource{Group: version.Group, Resource: parents.Resource}.String()}, nil
}

// warnings returns a warning if other CompositeControllers handle the same parents.
func (p *ParentIndex) warnings(name string, c *controller) []string {
	known := p.indexer.Load()
	if known == nil || c.decorates || len(c.parents) == 0 {
		return nil
	}
	parents := c.parents[0]
	objects, err := (*known).ByIndex(byParent, parents.GroupResource().String())
	if err != nil {
		return nil
	}
	var others []*v1alpha1.CompositeController
	for _, object := range objects {
		other := object.(*v1alpha1.CompositeController)
		if other.Name != name && mayShareParents(c.access.Namespaces, parents.selector, other) {
			others = append(others, other)
		}
	}
	return warnOfOthers(parents.path.String(), parents.GroupVersion().String(), others)
}

// mayShareParents reports whether a CompositeController with these namespaces and this selector may handle the same
// parents as another one for the same type.
func mayShareParents(namespaces []string, selector *v1alpha1.LabelSelector, other *v1alpha1.CompositeController) bool {
	return shareNamespaces(namespaces, other.Spec.Namespaces) &&
		!areDisjoint(selector, other.Spec.ParentResource.LabelSelector)
}

// warnOfOthers warns of other controllers of the same parents, if there are any.
func warnOfOthers(path, apiVersion string, others []*v1alpha1.CompositeController) []string {
	if len(others) == 0 {
		return nil
	}
	byName := slices.SortedFunc(slices.Values(others), func(a, b *v1alpha1.CompositeController) int {
		return strings.Compare(a.Name, b.Name)
	})
	more, why := "", ""
	if len(others) > 1 {
		more = fmt.Sprintf(" and %d more", len(others)-1)
	}
	if i := slices.IndexFunc(byName, func(other *v1alpha1.CompositeController) bool {
		return other.Spec.ParentResource.APIVersion != apiVersion
	}); i >= 0 {
		other := byName[i].Spec.ParentResource.APIVersion
		why = fmt.Sprintf(" (%s and %s are versions of the same objects)", apiVersion, other)
	}
	return []string{fmt.Sprintf("%s: CompositeController %q%s may handle the same parents%s: each controller would "+
		"write their status, and delete the children that only the other one returns", path, byName[0].Name, more, why)}
}

// shareNamespaces reports whether two controllers have a namespace in common. One that is not limited to
// any has all.
func shareNamespaces(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || sets.New(a...).HasAny(b...)
}

// mostCompared bounds the requirements of a selector that are compared with those of another one.
const mostCompared = 32

// areDisjoint returns true only if two selectors can never select the same object. It compares only the first
// requirements of long selectors.
func areDisjoint(a, b *v1alpha1.LabelSelector) bool {
	return slices.ContainsFunc(beginning(requirements(a)), func(one labels.Requirement) bool {
		return slices.ContainsFunc(beginning(requirements(b)), func(other labels.Requirement) bool {
			return one.Key() == other.Key() && (excludes(one, other) || excludes(other, one))
		})
	})
}

func beginning(all labels.Requirements) labels.Requirements {
	return all[:min(len(all), mostCompared)]
}

// requirements returns the requirements of a selector. A selector that is nil or invalid has none,
// and selects everything.
func requirements(selector *v1alpha1.LabelSelector) labels.Requirements {
	if selector == nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector.Meta())
	if err != nil {
		return nil
	}
	all, _ := parsed.Requirements()
	return all
}

// excludes reports whether a requirement of a label admits no value that another requirement of the
// same label admits.
func excludes(one, other labels.Requirement) bool {
	values, others := one.ValuesUnsorted(), sets.New(other.ValuesUnsorted()...)
	isOther := func(value string) bool { return others.Has(value) }
	switch one.Operator() {
	case selection.In, selection.Equals:
		switch other.Operator() {
		case selection.In, selection.Equals:
			return !slices.ContainsFunc(values, isOther)
		case selection.NotIn:
			return others.HasAll(values...)
		case selection.DoesNotExist:
			return true
		}
	case selection.Exists:
		return other.Operator() == selection.DoesNotExist
	}
	return false
}
