// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// fakeHost answers reviews by rules, and discovery by what it serves.
type fakeHost struct {
	// allTypesErr is the answer to who asks for all types at once.
	allTypesErr error
	// rules allow "<verb> <resource>[/<subresource>][ <namespace>/<name>]", where a * stands for
	// anything.
	rules []string
	// served are the resources and subresources of each API version. The ones with a * at the end of
	// their names are cluster-scoped.
	served map[string][]string
	// definitions are CustomResourceDefinitions by name.
	definitions map[string]string
	// err is the answer to every review, discoveryErr that to every question about types.
	err, discoveryErr error
	// trouble is what could not be evaluated.
	trouble string

	mu    sync.Mutex
	asked []string
	specs []authorizationv1.SubjectAccessReviewSpec
}

func (h *fakeHost) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	of := review.Spec.ResourceAttributes
	question := of.Verb + " " + schema.GroupResource{Group: of.Group, Resource: of.Resource}.String()
	if of.Subresource != "" {
		question += "/" + of.Subresource
	}
	if of.Namespace != "" {
		question += " " + of.Namespace + "/" + of.Name
	}
	h.mu.Lock()
	h.asked = append(h.asked, question)
	h.specs = append(h.specs, review.Spec)
	h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	review = review.DeepCopy()
	review.Status.EvaluationError = h.trouble
	review.Status.Allowed = slices.ContainsFunc(h.rules, func(rule string) bool {
		matched, err := path.Match(rule, question)
		return rule == "*" || err == nil && matched
	})
	return review, nil
}

func (h *fakeHost) ServerResourcesForGroupVersionWithContext(_ context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	if h.discoveryErr != nil {
		return nil, h.discoveryErr
	}
	names, ok := h.served[groupVersion]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	}
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, name := range names {
		name, clusterScoped := strings.CutSuffix(name, "*")
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: !clusterScoped})
	}
	return list, nil
}

// The lists are in no order, like those of the real client. The groups are in the order of their names.
func (h *fakeHost) ServerGroupsAndResourcesWithContext(ctx context.Context) (groups []*metav1.APIGroup, lists []*metav1.APIResourceList, err error) {
	if h.allTypesErr != nil {
		return nil, nil, h.allTypesErr
	}
	for _, version := range slices.Sorted(maps.Keys(h.served)) {
		list, err := h.ServerResourcesForGroupVersionWithContext(ctx, version)
		if err != nil {
			return nil, nil, err
		}
		lists = append(lists, list)
		groups = append(groups, &metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version}}})
	}
	slices.Reverse(lists)
	return groups, lists, nil
}

func (h *fakeHost) Get(_ context.Context, name string) ([]byte, error) {
	if h.discoveryErr != nil {
		return nil, h.discoveryErr
	}
	if text, ok := h.definitions[name]; ok {
		return yaml.YAMLToJSON([]byte(text))
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

// asHost returns the host with all its clients.
func (h *fakeHost) asHost() Host { return Host{Reviews: h, Types: h, Definitions: h} }

// questions are what was asked, in alphabetical order.
func (h *fakeHost) questions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.asked))
}

func jane() *user.DefaultInfo {
	return &user.DefaultInfo{Name: "jane", UID: "7", Groups: []string{"authors", user.AllAuthenticated}, Extra: map[string][]string{"scopes": {"a", "b"}}}
}

// composite is a CompositeController of pages, which are not there yet, that makes pods.
func composed(change ...func(*v1alpha1.CompositeControllerSpec)) *v1alpha1.CompositeController {
	controller := &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: "pages"},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{
				ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "pages"},
			},
			ChildResources: []v1alpha1.CompositeControllerChildResourceRule{
				{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"}},
			},
			Hooks: &v1alpha1.CompositeControllerHooks{Sync: hookAt("http://hooks.default/sync")},
		},
	}
	for _, change := range change {
		change(&controller.Spec)
	}
	return controller
}

func decorated(resource string) *v1alpha1.DecoratorController {
	return &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: "pages"},
		Spec: v1alpha1.DecoratorControllerSpec{
			Resources: []v1alpha1.DecoratorControllerResourceRule{{ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: resource}}},
			Hooks:     &v1alpha1.DecoratorControllerHooks{Sync: hookAt("http://hooks.default/sync")},
		},
	}
}

func hookAt(url string) *v1alpha1.Hook {
	return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}
}

// child adds a type of children.
func child(apiVersion, resource string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = append(spec.ChildResources, v1alpha1.CompositeControllerChildResourceRule{
			ResourceRule: v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource},
		})
	}
}

// decorating adds targets of a type, and attachments of a type.
func decorating(decorator *v1alpha1.DecoratorController, target, attachment string) *v1alpha1.DecoratorController {
	spec := &decorator.Spec
	spec.Resources = append(spec.Resources, v1alpha1.DecoratorControllerResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: target}})
	spec.Attachments = append(spec.Attachments, v1alpha1.DecoratorControllerAttachmentRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: attachment}})
	return decorator
}

// request is one to create the object, or to update stored to it.
func request(author user.Info, subresource string, object, stored runtime.Object) admission.Attributes {
	resource := "compositecontrollers"
	if _, ok := object.(*v1alpha1.DecoratorController); ok {
		resource = "decoratorcontrollers"
	}
	operation, options := admission.Create, runtime.Object(&metav1.CreateOptions{})
	if stored != nil {
		operation, options = admission.Update, &metav1.UpdateOptions{}
	}
	return admission.NewAttributesRecord(object, stored, schema.GroupVersionKind{}, "", "pages",
		v1alpha1.SchemeGroupVersion.WithResource(resource), subresource, operation, options, false, author)
}

// errGone is what a host that is away answers.
var errGone = errors.New("connection refused")
