// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"

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
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// kind has the properties of one kind.
type kind[T memory.Object] struct {
	// resource is the plural name of the resource, and singular is its singular name.
	resource schema.GroupResource
	singular string
	// shortNames are further names for use with kubectl.
	shortNames []string
	// newObject returns an empty object. newList returns a list of copies of the objects.
	newObject func() T
	newList   func(meta metav1.ListMeta, items []T) runtime.Object
	// table makes the tables that kubectl get prints.
	table rest.TableConvertor
}

// storage serves a kind.
type storage[T memory.Object] struct {
	rest.TableConvertor
	kind kind[T]
	rows *Rows[T]
}

// newStorage returns the storage of a kind whose objects are the rows.
func newStorage[T memory.Object](of kind[T], rows *Rows[T]) *storage[T] {
	return &storage[T]{TableConvertor: of.table, kind: of, rows: rows}
}

// New returns an empty object.
func (s *storage[T]) New() runtime.Object { return s.kind.newObject() }

// NewList returns an empty list.
func (s *storage[T]) NewList() runtime.Object { return s.kind.newList(metav1.ListMeta{}, nil) }

// Destroy does nothing: the rows have an owner.
func (s *storage[T]) Destroy() {}

// NamespaceScoped is true: each object is in the namespace of the object that it is about.
func (s *storage[T]) NamespaceScoped() bool { return true }

// GetSingularName returns the singular name of the resource.
func (s *storage[T]) GetSingularName() string { return s.kind.singular }

// ShortNames returns further names of the resource for use with kubectl.
func (s *storage[T]) ShortNames() []string { return s.kind.shortNames }

// Get returns an object.
func (s *storage[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// find is Get with the type of the object. The caller must not change the object that found points to.
func (s *storage[T]) find(ctx context.Context, name string) (found T, err error) {
	store, closeSession, err := s.open(ctx)
	if err != nil {
		return found, err
	}
	defer closeSession()
	found, isThere := store.Get(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name})
	if !isThere {
		return found, apierrors.NewNotFound(s.kind.resource, name)
	}
	return found, nil
}

// List returns objects in the order of their namespaces and names.
func (s *storage[T]) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	store, closeSession, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer closeSession()
	options = ptr.To(ptr.Deref(options, metainternalversion.ListOptions{}))
	items, meta, err := store.List(memory.ListOptions{
		Selection: selectionOf(ctx, options), Limit: options.Limit, Continue: options.Continue,
		ResourceVersion: options.ResourceVersion, Match: options.ResourceVersionMatch,
	})
	if err != nil {
		return nil, err
	}
	return s.kind.newList(meta, items), nil
}

// Watch returns the changes until it is stopped, or until ctx ends. If the API server refuses a watch that has begun,
// such as one whose Accept header allows no stream, it does not stop the watch: it only ends ctx.
func (s *storage[T]) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	store, closeSession, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	options = ptr.To(ptr.Deref(options, metainternalversion.ListOptions{}))
	events, err := store.Watch(ctx, memory.WatchOptions{
		Selection: selectionOf(ctx, options), ResourceVersion: options.ResourceVersion,
		AllowBookmarks: options.AllowWatchBookmarks, SendInitialEvents: options.SendInitialEvents,
		Begun: func() { utilflowcontrol.WatchInitialized(ctx) }, // it gives its seat of priority and fairness back
	})
	if err != nil {
		closeSession()
		return nil, err
	}
	forget := context.AfterFunc(ctx, closeSession)
	return &closingWatch{Interface: events, close: func() { forget(); closeSession() }}, nil
}

// open joins the session of the rows.
func (s *storage[T]) open(ctx context.Context) (store *memory.Store[T], closeSession func(), err error) {
	if store, closeSession, err = s.rows.open(ctx); err != nil {
		return nil, nil, unavailable(err)
	}
	return store, closeSession, nil
}

// retryAfterSeconds is the delay before a client retries a request that the server could not answer.
const retryAfterSeconds = 1

// unavailable returns the error of a request that this process cannot answer now: 503 with a time to try again.
func unavailable(why error) error {
	if _, isSaid := apierrors.SuggestsClientDelay(why); isSaid {
		return why
	}
	err := apierrors.NewServiceUnavailable(why.Error())
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return err
}

func selectionOf(ctx context.Context, options *metainternalversion.ListOptions) memory.Selection {
	return memory.Selection{Namespace: request.NamespaceValue(ctx), Labels: options.LabelSelector,
		Fields: options.FieldSelector}
}

func copyOf[O any](of *O) *O {
	clone := *of
	return &clone
}

func copiesOf[O any](items []*O) []O {
	copies := make([]O, len(items))
	for i, item := range items {
		copies[i] = *item
	}
	return copies
}

// closingWatch is a watch that leaves the session when it stops.
type closingWatch struct {
	watch.Interface
	close func()
}

// Stop ends the watch and leaves the session.
func (w *closingWatch) Stop() {
	w.Interface.Stop()
	w.close()
}
