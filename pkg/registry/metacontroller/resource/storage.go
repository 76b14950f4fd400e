// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Storage is the REST storage of one kind.
type Storage struct {
	// Main serves the resource itself.
	Main *REST
	// Status serves its status subresource. Destroying Main destroys both.
	Status *StatusREST
}

// newStorage returns the storage of a kind. scheme knows its versions.
func newStorage[T any, O apiObject[T]](of kind[T, O], scheme *runtime.Scheme,
	optsGetter generic.RESTOptionsGetter) (*Storage, error) {
	main := newStrategy(of, scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return O(new(T)) },
		NewListFunc:               of.newList,
		DefaultQualifiedResource:  v1alpha1.Resource(of.resource),
		SingularQualifiedResource: v1alpha1.Resource(of.singular),
		CreateStrategy:            main,
		UpdateStrategy:            main,
		DeleteStrategy:            main,
		ResetFieldsStrategy:       main,
		TableConvertor:            of.table,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: optsGetter}); err != nil {
		return nil, fmt.Errorf("preparing the storage of %s: %w", v1alpha1.Resource(of.resource), err)
	}

	status := newStatusStrategy(main)
	statusStore := *store
	statusStore.UpdateStrategy = status
	statusStore.ResetFieldsStrategy = status

	return &Storage{
		Main:   &REST{Store: store, shortNames: of.shortNames},
		Status: &StatusREST{store: &statusStore},
	}, nil
}

// REST serves the main resource of a kind.
type REST struct {
	*genericregistry.Store
	shortNames []string
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.TableConvertor       = &REST{}
	_ rest.ResetFieldsStrategy  = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
	_ rest.StorageWithReadiness = &REST{}
)

// ShortNames returns further names of the resource for use with kubectl.
func (r *REST) ShortNames() []string {
	return r.shortNames
}

// Categories returns the words that stand for a group of resources, in kubectl get, to which the
// resource belongs.
func (r *REST) Categories() []string {
	return []string{v1alpha1.Category}
}

// StatusREST serves the status subresource of a kind. It does not embed its store, so it offers only the verbs below.
type StatusREST struct {
	store *genericregistry.Store
}

var (
	_ rest.Patcher             = &StatusREST{}
	_ rest.TableConvertor      = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
)

// New returns an empty object of the kind.
func (r *StatusREST) New() runtime.Object {
	return r.store.New()
}

// Destroy does nothing: the main resource destroys the store that they share.
func (r *StatusREST) Destroy() {}

// Get returns an object.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes the status of an object. It never creates an object.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo,
	createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool,
	options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
}

// GetResetFields returns the fields that a server-side apply to the status subresource cannot own.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable returns the table that kubectl get --subresource=status prints.
func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

// Watch is the store's Watch, but answers 410 Gone if the storage has not reached the
// resourceVersion. The store would accept such a watch and then leave out every event up to that
// version, for days if need be. That is how informers go blind when the storage is restored from a
// backup, or replaced as on the way from CRDs to this server. On 410 they list again.
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	reach, err := r.reach(ctx, options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if reach.isExceeded() {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf(
			"resourceVersion %d is not from this storage, which is at %d and may have been restored or replaced: list %s again",
			reach.requested, reach.current, r.DefaultQualifiedResource))
	}
	return r.Store.Watch(ctx, options)
}

// List is the store's List, but fails at once if the storage has not reached the resourceVersion.
// The store would wait for three seconds and then have the client retry. The client would retry ten
// times before its informer starts again.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	reach, err := r.reach(ctx, options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if reach.isExceeded() {
		return nil, storage.NewTooLargeResourceVersionError(reach.requested, reach.current, 0)
	}
	return r.Store.List(ctx, options)
}

// reach holds the resourceVersion that a client requests and the current one of the storage.
type reach struct {
	requested, current uint64
}

func (r reach) isExceeded() bool {
	return r.requested > r.current
}

// reach asks the storage for its current resourceVersion, by reading one key, if the client
// requests a particular one.
func (r *REST) reach(ctx context.Context, resourceVersion string) (reach, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return reach{}, nil
	}
	requested, err := r.Storage.Versioner().ParseResourceVersion(resourceVersion)
	if err != nil {
		return reach{}, apierrors.NewBadRequest(fmt.Sprintf("this server has not issued the resourceVersion %q",
			resourceVersion))
	}
	current, err := r.Storage.Storage.GetCurrentResourceVersion(ctx)
	if err != nil {
		return reach{}, apierrors.NewInternalError(fmt.Errorf("reading the current resourceVersion of %s: %w",
			r.DefaultQualifiedResource, err))
	}
	return reach{requested: requested, current: current}, nil
}
