// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"fmt"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// REST serves Imports.
type REST struct {
	// records has an Import for each object that was imported, without the object.
	records *genericregistry.Store
	// importers write the objects, one for each kind.
	importers []*resource.Importer
	// codec encodes objects as v1alpha1, and decodes no field that the types lack.
	codec  runtime.Codec
	table  rest.TableConvertor
	advise Advise
}

// Advise warns of what there is to say about an object, beyond its errors. It may take a second, so it is asked in a dry run alone.
type Advise func(ctx context.Context, kind schema.GroupVersionKind, name string, object runtime.Object)

var (
	_ rest.Creater              = &REST{}
	_ rest.Getter               = &REST{}
	_ rest.Lister               = &REST{}
	_ rest.GracefulDeleter      = &REST{}
	_ rest.CollectionDeleter    = &REST{}
	_ rest.Scoper               = &REST{}
	_ rest.SingularNameProvider = &REST{}
	_ rest.StorageWithReadiness = &REST{}
)

// NewREST returns the storage of Imports. The scheme knows the types of both groups. advise may be nil.
func NewREST(scheme *runtime.Scheme, importers []*resource.Importer, advise Advise, options generic.RESTOptionsGetter) (*REST, error) {
	kept := strategy{ObjectTyper: scheme, NameGenerator: names.SimpleNameGenerator}
	records := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &migration.Import{} },
		NewListFunc:               func() runtime.Object { return &migration.ImportList{} },
		DefaultQualifiedResource:  migration.Resource("imports"),
		SingularQualifiedResource: migration.Resource("import"),
		CreateStrategy:            kept,
		DeleteStrategy:            kept,
		TableConvertor:            newTable(),
	}
	if err := records.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options}); err != nil {
		return nil, fmt.Errorf("preparing the storage of %s: %w", records.DefaultQualifiedResource, err)
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	return &REST{
		records: records, importers: importers, table: records.TableConvertor, advise: advise,
		codec: strict.CodecForVersions(strict.LegacyCodec(v1alpha1.SchemeGroupVersion), strict.UniversalDeserializer(), v1alpha1.SchemeGroupVersion, metacontroller.SchemeGroupVersion),
	}, nil
}

// strategy is that of the records. Only this package creates them, below the strategy.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var _ rest.RESTCreateStrategy = strategy{}

// NamespaceScoped is false.
func (strategy) NamespaceScoped() bool { return false }

// PrepareForCreate does nothing.
func (strategy) PrepareForCreate(context.Context, runtime.Object) {}

// Validate finds no errors.
func (strategy) Validate(context.Context, runtime.Object) field.ErrorList { return nil }

// WarningsOnCreate has none.
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// Canonicalize does nothing.
func (strategy) Canonicalize(runtime.Object) {}

// New returns an empty Import.
func (r *REST) New() runtime.Object { return &migration.Import{} }

// NewList returns an empty list.
func (r *REST) NewList() runtime.Object { return &migration.ImportList{} }

// Destroy closes the storage of the records. That of the objects is closed elsewhere.
func (r *REST) Destroy() { r.records.Destroy() }

// NamespaceScoped is false.
func (r *REST) NamespaceScoped() bool { return false }

// GetSingularName returns the name of one.
func (r *REST) GetSingularName() string { return r.records.SingularQualifiedResource.Resource }

// ReadinessCheck returns why the storage cannot be read yet.
func (r *REST) ReadinessCheck() error { return r.records.ReadinessCheck() }

// ConvertToTable makes the table that kubectl get prints.
func (r *REST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.table.ConvertToTable(ctx, object, options)
}

// Delete forgets where an object came from. The object stays.
func (r *REST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return r.records.Delete(ctx, name, validate, options)
}

// DeleteCollection forgets where objects came from.
func (r *REST) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error) {
	return r.records.DeleteCollection(ctx, validate, options, list)
}
