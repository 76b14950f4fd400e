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

// Kind holds what is particular to a kind.
type Kind[T memory.Object] struct {
	// Resource is the plural name of the resource, and Singular is its singular name.
	Resource schema.GroupResource
	Singular string
	// ShortNames are further names for use with kubectl.
	ShortNames []string
	// New returns an empty object. NewList returns a list of copies of the objects.
	New     func() T
	NewList func(meta metav1.ListMeta, items []T) runtime.Object
	// Table makes the tables that kubectl get prints.
	Table rest.TableConvertor
}

// REST serves a kind.
type REST[T memory.Object] struct {
	rest.TableConvertor
	kind Kind[T]
	rows *Rows[T]
}

// NewREST returns the storage of a kind whose objects are the rows.
func NewREST[T memory.Object](kind Kind[T], rows *Rows[T]) *REST[T] {
	return &REST[T]{TableConvertor: kind.Table, kind: kind, rows: rows}
}

// New returns an empty object.
func (r *REST[T]) New() runtime.Object { return r.kind.New() }

// NewList returns an empty list.
func (r *REST[T]) NewList() runtime.Object { return r.kind.NewList(metav1.ListMeta{}, nil) }

// Destroy does nothing: the rows have an owner.
func (r *REST[T]) Destroy() {}

// NamespaceScoped is true: the objects are in the namespaces of what they are about.
func (r *REST[T]) NamespaceScoped() bool { return true }

// GetSingularName returns the singular name of the resource.
func (r *REST[T]) GetSingularName() string { return r.kind.Singular }

// ShortNames returns further names of the resource for use with kubectl.
func (r *REST[T]) ShortNames() []string { return r.kind.ShortNames }

// Get returns an object.
func (r *REST[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := r.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Find is Get with the type of the object. The caller must not change what found points to.
func (r *REST[T]) Find(ctx context.Context, name string) (found T, err error) {
	store, closeSession, err := r.open(ctx)
	if err != nil {
		return found, err
	}
	defer closeSession()
	found, isThere := store.Get(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name})
	if !isThere {
		return found, apierrors.NewNotFound(r.kind.Resource, name)
	}
	return found, nil
}

// List returns objects in the order of their namespaces and names.
func (r *REST[T]) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	store, closeSession, err := r.open(ctx)
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
	return r.kind.NewList(meta, items), nil
}

// Watch returns the changes until it is stopped, or until ctx ends. If the API server refuses a watch that has begun,
// such as one whose Accept header allows no stream, it does not stop the watch: it only ends ctx.
func (r *REST[T]) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	store, closeSession, err := r.open(ctx)
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
func (r *REST[T]) open(ctx context.Context) (store *memory.Store[T], closeSession func(), err error) {
	if store, closeSession, err = r.rows.Open(ctx); err != nil {
		return nil, nil, Unavailable(err)
	}
	return store, closeSession, nil
}

// retryAfterSeconds is the delay before a client retries a request that the server could not answer.
const retryAfterSeconds = 1

// Unavailable returns the error of a request that this process cannot answer now: 503 with a time to try again.
func Unavailable(why error) error {
	if _, isSaid := apierrors.SuggestsClientDelay(why); isSaid {
		return why
	}
	unavailable := apierrors.NewServiceUnavailable(why.Error())
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return unavailable
}

func selectionOf(ctx context.Context, options *metainternalversion.ListOptions) memory.Selection {
	return memory.Selection{Namespace: request.NamespaceValue(ctx), Labels: options.LabelSelector,
		Fields: options.FieldSelector}
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
