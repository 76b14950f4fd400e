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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/decorator"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// declared is a CompositeController or DecoratorController.
type declared interface {
	hosted.ControllerObject
	ParentTypes() []v1alpha1.ResourceRule
	ChildTypes() []v1alpha1.ResourceRule
	GetSpec() any
}

// ownAPI is what the own API has of one kind of controllers.
type ownAPI interface {
	informer() cache.SharedIndexInformer
	get(name string) (declared, error)
	list() ([]declared, error)
	// live reads an object from the storage, also one that is not selected.
	live(ctx context.Context, name string) (declared, error)
	patch(ctx context.Context, name string, mergePatch []byte) (declared, error)
	updateStatus(ctx context.Context, object declared) (declared, error)
	resolve(ctx context.Context, discovery *discovery.Discovery, object declared) (*hosted.Spec, error)
}

// controllers is the ownAPI of the kind that T is a pointer to.
type controllers[T declared] struct {
	client interface {
		Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
		Patch(ctx context.Context, name string, patchType types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
		UpdateStatus(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	}
	lister interface {
		List(selector labels.Selector) ([]T, error)
		Get(name string) (T, error)
	}
	shared       cache.SharedIndexInformer
	resolveTyped func(ctx context.Context, discovery *discovery.Discovery, object T) (*hosted.Spec, error)
}

func compositeControllers(client versioned.Interface, informers externalversions.SharedInformerFactory) ownAPI {
	of := informers.Metacontroller().V1alpha1().CompositeControllers()
	return controllers[*v1alpha1.CompositeController]{
		client: client.MetacontrollerV1alpha1().CompositeControllers(), lister: of.Lister(), shared: of.Informer(), resolveTyped: composite.Resolve,
	}
}

func decoratorControllers(client versioned.Interface, informers externalversions.SharedInformerFactory) ownAPI {
	of := informers.Metacontroller().V1alpha1().DecoratorControllers()
	return controllers[*v1alpha1.DecoratorController]{
		client: client.MetacontrollerV1alpha1().DecoratorControllers(), lister: of.Lister(), shared: of.Informer(), resolveTyped: decorator.Resolve,
	}
}

func (c controllers[T]) informer() cache.SharedIndexInformer { return c.shared }

func (c controllers[T]) get(name string) (declared, error) { return c.lister.Get(name) }

func (c controllers[T]) list() ([]declared, error) {
	typed, err := c.lister.List(labels.Everything())
	objects := make([]declared, len(typed))
	for i, object := range typed {
		objects[i] = object
	}
	return objects, err
}

func (c controllers[T]) live(ctx context.Context, name string) (declared, error) {
	return c.client.Get(ctx, name, metav1.GetOptions{})
}

func (c controllers[T]) patch(ctx context.Context, name string, mergePatch []byte) (declared, error) {
	return c.client.Patch(ctx, name, types.MergePatchType, mergePatch, metav1.PatchOptions{})
}

func (c controllers[T]) updateStatus(ctx context.Context, object declared) (declared, error) {
	return c.client.UpdateStatus(ctx, object.(T), metav1.UpdateOptions{})
}

func (c controllers[T]) resolve(ctx context.Context, discovery *discovery.Discovery, object declared) (*hosted.Spec, error) {
	return c.resolveTyped(ctx, discovery, object.(T))
}
