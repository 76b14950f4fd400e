// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/mirror"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Kind holds what is particular to a kind.
type Kind[T memory.Object] struct {
	// Resource is the plural name, and Singular the singular one.
	Resource schema.GroupResource
	Singular string
	// ShortNames are further names for use with kubectl.
	ShortNames []string
	// New returns an empty object. NewList returns a list of objects, of which it makes copies.
	New     func() T
	NewList func(meta metav1.ListMeta, items []T) runtime.Object
	// Table makes the tables that kubectl get prints.
	Table rest.TableConvertor
}

// REST serves a kind.
type REST[T memory.Object] struct {
	rest.TableConvertor
	kind   Kind[T]
	mirror *mirror.Mirror[T]
}

// NewREST returns the storage of a kind whose objects a mirror shows.
func NewREST[T memory.Object](kind Kind[T], shown *mirror.Mirror[T]) *REST[T] {
	return &REST[T]{TableConvertor: kind.Table, kind: kind, mirror: shown}
}

// New returns an empty object.
func (r *REST[T]) New() runtime.Object { return r.kind.New() }

// NewList returns an empty list.
func (r *REST[T]) NewList() runtime.Object { return r.kind.NewList(metav1.ListMeta{}, nil) }

// Destroy does nothing: the mirror has an owner.
func (r *REST[T]) Destroy() {}

// NamespaceScoped is true: the objects are in the namespaces of what they are about.
func (r *REST[T]) NamespaceScoped() bool { return true }

// GetSingularName returns the singular name of the resource.
func (r *REST[T]) GetSingularName() string { return r.kind.Singular }

// ShortNames returns further names of the resource for use with kubectl.
func (r *REST[T]) ShortNames() []string { return r.kind.ShortNames }

// Get returns an object. The answer warns of replicas that could not be asked.
func (r *REST[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := r.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Find is Get with the type of the object. What it points to must not be changed.
func (r *REST[T]) Find(ctx context.Context, name string) (found T, err error) {
	view, err := r.open(ctx)
	if err != nil {
		return found, err
	}
	defer view.Close()
	found, isThere := view.Store.Get(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name})
	if !isThere {
		return found, apierrors.NewNotFound(r.kind.Resource, name)
	}
	return found, nil
}

// List returns objects in the order of their namespaces and names.
func (r *REST[T]) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	view, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	options = ptr.To(ptr.Deref(options, metainternalversion.ListOptions{}))
	items, meta, err := view.Store.List(memory.ListOptions{
		Selection: selectionOf(ctx, options), Limit: options.Limit, Continue: options.Continue,
		ResourceVersion: options.ResourceVersion, Match: options.ResourceVersionMatch,
	})
	if err != nil {
		return nil, err
	}
	return r.kind.NewList(meta, items), nil
}

// Watch tells what changes until it is stopped, or until ctx ends. The API server stops no watch that it refuses after it has
// begun, such as one with an Accept header that allows no stream: it only ends ctx.
func (r *REST[T]) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	view, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	options = ptr.To(ptr.Deref(options, metainternalversion.ListOptions{}))
	events, err := view.Store.Watch(ctx, memory.WatchOptions{
		Selection: selectionOf(ctx, options), ResourceVersion: options.ResourceVersion,
		AllowBookmarks: options.AllowWatchBookmarks, SendInitialEvents: options.SendInitialEvents,
		Begun: func() { utilflowcontrol.WatchInitialized(ctx) }, // it gives its seat of priority and fairness back
	})
	if err != nil {
		view.Close()
		return nil, err
	}
	forget := context.AfterFunc(ctx, view.Close)
	return &closingWatch{Interface: events, close: func() { forget(); view.Close() }}, nil
}

// open begins a look.
func (r *REST[T]) open(ctx context.Context) (*mirror.View[T], error) {
	view, err := r.mirror.Open(ctx)
	if err != nil {
		return nil, Unavailable(err)
	}
	if len(view.Missing) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("these replicas do not answer, so what they run may be left out or out of date: %s",
			strings.Join(view.Missing, ", ")))
	}
	return view, nil
}

// retryAfterSeconds is when a client tries again that could not be answered.
const retryAfterSeconds = 1

// Unavailable returns the error that is answered while this process cannot answer: 503 with a time to try again.
func Unavailable(why error) error {
	if apierrors.IsServiceUnavailable(why) {
		return why
	}
	unavailable := apierrors.NewServiceUnavailable(why.Error())
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return unavailable
}

func selectionOf(ctx context.Context, options *metainternalversion.ListOptions) memory.Selection {
	return memory.Selection{Namespace: request.NamespaceValue(ctx), Labels: options.LabelSelector, Fields: options.FieldSelector}
}

// closingWatch is a watch that ends a look.
type closingWatch struct {
	watch.Interface
	close func()
}

// Stop ends the watch and the look.
func (w *closingWatch) Stop() {
	w.Interface.Stop()
	w.close()
}
