// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/resolve"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// controllerObject is a CompositeController or DecoratorController.
type controllerObject interface {
	parentcontroller.ControllerObject
	ParentTypes() []v1alpha1.ResourceRule
	ChildTypes() []v1alpha1.ResourceRule
	GetSpec() any
	GetAccess() *v1alpha1.Access
}

// apiClient reads and writes the controller objects of one kind in the own API.
type apiClient interface {
	informer() cache.SharedIndexInformer
	// get and list read from the informer.
	get(name string) (controllerObject, error)
	list() ([]controllerObject, error)
	// getLive reads from the storage, including objects that the label selector does not select.
	getLive(ctx context.Context, name string) (controllerObject, error)
	patch(ctx context.Context, name string, mergePatch []byte) (controllerObject, error)
	updateStatus(ctx context.Context, object controllerObject) (controllerObject, error)
	// resolve turns the spec of an object into one that can be run.
	resolve(ctx context.Context, discovery *discovery.Discovery, object controllerObject) (*parentcontroller.Spec, error)
}

// typedClient is the apiClient of the kind that T is a pointer to.
type typedClient[T controllerObject] struct {
	client interface {
		Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
		Patch(
			ctx context.Context, name string, patchType types.PatchType, data []byte,
			options metav1.PatchOptions, subresources ...string,
		) (T, error)
		UpdateStatus(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	}
	lister interface {
		List(selector labels.Selector) ([]T, error)
		Get(name string) (T, error)
	}
	sharedInformer cache.SharedIndexInformer
	resolveTyped   func(ctx context.Context, discovery *discovery.Discovery, object T) (*parentcontroller.Spec, error)
}

func compositeControllers(client versioned.Interface, informers externalversions.SharedInformerFactory) apiClient {
	typed := informers.Metacontroller().V1alpha1().CompositeControllers()
	return typedClient[*v1alpha1.CompositeController]{
		client: client.MetacontrollerV1alpha1().CompositeControllers(), lister: typed.Lister(),
		sharedInformer: typed.Informer(), resolveTyped: resolve.Composite,
	}
}

func decoratorControllers(client versioned.Interface, informers externalversions.SharedInformerFactory) apiClient {
	typed := informers.Metacontroller().V1alpha1().DecoratorControllers()
	return typedClient[*v1alpha1.DecoratorController]{
		client: client.MetacontrollerV1alpha1().DecoratorControllers(), lister: typed.Lister(),
		sharedInformer: typed.Informer(), resolveTyped: resolve.Decorator,
	}
}

func (c typedClient[T]) informer() cache.SharedIndexInformer { return c.sharedInformer }

func (c typedClient[T]) get(name string) (controllerObject, error) { return c.lister.Get(name) }

func (c typedClient[T]) list() ([]controllerObject, error) {
	typed, err := c.lister.List(labels.Everything())
	objects := make([]controllerObject, len(typed))
	for i, object := range typed {
		objects[i] = object
	}
	return objects, err
}

func (c typedClient[T]) getLive(ctx context.Context, name string) (controllerObject, error) {
	return c.client.Get(ctx, name, metav1.GetOptions{})
}

func (c typedClient[T]) patch(ctx context.Context, name string, mergePatch []byte) (controllerObject, error) {
	return c.client.Patch(ctx, name, types.MergePatchType, mergePatch, metav1.PatchOptions{})
}

func (c typedClient[T]) updateStatus(ctx context.Context, object controllerObject) (controllerObject, error) {
	return c.client.UpdateStatus(ctx, object.(T), metav1.UpdateOptions{})
}

func (c typedClient[T]) resolve(
	ctx context.Context, discovery *discovery.Discovery, object controllerObject,
) (*parentcontroller.Spec, error) {
	return c.resolveTyped(ctx, discovery, object.(T))
}
