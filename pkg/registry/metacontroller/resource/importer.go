// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
)

// Importer writes objects of one kind below its strategy: what is stored is exactly the given object, with the
// UID, creation time, generation, status and managedFields that it had elsewhere. The caller validates it.
type Importer struct {
	// Kind is the name of the kind, such as "CompositeController", and Resource its resource.
	Kind     string
	Resource schema.GroupResource
	// Check brings an object into the form that is stored, and returns its errors, and warnings about it.
	Check func(runtime.Object) (field.ErrorList, []string)
	// KeepStatus gives an object the status of the stored one.
	KeepStatus func(object, stored runtime.Object)

	store *genericregistry.Store
}

func newImporter[T any, O Object[T]](strategy Strategy[T, O], store *genericregistry.Store) *Importer {
	return &Importer{
		Kind:     reflect.TypeFor[T]().Name(),
		Resource: store.DefaultQualifiedResource,
		Check: func(object runtime.Object) (field.ErrorList, []string) {
			strategy.normalize(object.(O))
			if errs := strategy.kind.Validate(object.(O)); len(errs) > 0 {
				return errs, nil
			}
			return nil, strategy.warnings(object.(O))
		},
		KeepStatus: func(object, stored runtime.Object) {
			if strategy.kind.Status != nil {
				strategy.kind.Status(stored.(O)).DeepCopyInto(strategy.kind.Status(object.(O)))
			}
		},
		store: store,
	}
}

// Get returns the stored object, nil if there is none.
func (i *Importer) Get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	key, err := i.key(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	found := i.store.New()
	err = i.store.Storage.Get(ctx, key, storage.GetOptions{}, found)
	if storage.IsNotFound(err) {
		return nil, nil
	}
	return found, storeerr.InterpretGetError(err, i.Resource, name)
}

// List returns a page of the stored objects, and how to continue.
func (i *Importer) List(ctx context.Context, limit int64, next string) (objects []runtime.Object, list metav1.ListInterface, err error) {
	everything := i.store.PredicateFunc(labels.Everything(), fields.Everything())
	page, err := i.store.ListPredicate(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), everything, &metainternalversion.ListOptions{Limit: limit, Continue: next})
	if err != nil {
		return nil, nil, err
	}
	if objects, err = meta.ExtractList(page); err != nil {
		return nil, nil, err
	}
	list, err = meta.ListAccessor(page)
	return objects, list, err
}

// errUnchanged ends an update that has nothing to write.
var errUnchanged = errors.New("the object stays as it is")

// Put stores the object that replace returns. The argument of replace is the object that is stored, nil if there is none. If replace
// returns nil, Put stores nothing. If another request writes the object at the same time, Put calls replace again.
func (i *Importer) Put(ctx context.Context, namespace, name string, dryRun bool, replace func(stored runtime.Object) (runtime.Object, error)) error {
	key, err := i.key(ctx, namespace, name)
	if err != nil {
		return err
	}
	update := storage.SimpleUpdate(func(stored runtime.Object) (runtime.Object, error) {
		is, err := meta.Accessor(stored)
		if err != nil {
			return nil, err
		}
		if is.GetUID() == "" {
			stored = nil
		}
		object, err := replace(stored)
		if err != nil {
			return nil, err
		}
		if object == nil {
			return nil, errUnchanged
		}
		return object, nil
	})
	err = i.store.Storage.GuaranteedUpdate(ctx, key, i.store.New(), true, nil, update, dryRun, nil)
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return storeerr.InterpretUpdateError(err, i.Resource, name)
}

// Delete removes the stored object, whatever finalizers it has. If check returns an error for the object, Delete returns that error
// and removes nothing. If another request writes the object at the same time, Delete calls check again.
func (i *Importer) Delete(ctx context.Context, namespace, name string, dryRun bool, check func(stored runtime.Object) error) error {
	key, err := i.key(ctx, namespace, name)
	if err != nil {
		return err
	}
	validate := func(_ context.Context, stored runtime.Object) error { return check(stored) }
	err = i.store.Storage.Delete(ctx, key, i.store.New(), nil, validate, dryRun, nil, storage.DeleteOptions{})
	return storeerr.InterpretDeleteError(err, i.Resource, name)
}

func (i *Importer) key(ctx context.Context, namespace, name string) (string, error) {
	return i.store.KeyFunc(genericapirequest.WithNamespace(ctx, namespace), name)
}
