// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
)

// record returns the record of an object; nil if it was never imported.
func (r *REST) record(ctx context.Context, name string) (*migration.Import, error) {
	key, err := r.records.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	found := &migration.Import{}
	err = r.records.Storage.Get(ctx, key, storage.GetOptions{}, found)
	if storage.IsNotFound(err) {
		return nil, nil
	}
	return found, storeerr.InterpretGetError(err, r.records.DefaultQualifiedResource, name)
}

// note records that an object was imported.
func (r *REST) note(ctx context.Context, from *source, base runtime.Object) error {
	content, err := r.content(base)
	if err != nil {
		return err
	}
	reference, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: from.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: from.namespace, Name: from.name, UID: from.uid},
	})
	if err != nil {
		return err
	}
	key, err := r.records.KeyFunc(ctx, string(from.uid))
	if err != nil {
		return err
	}
	update := storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		record := existing.(*migration.Import)
		if record.UID == "" {
			record.ObjectMeta = metav1.ObjectMeta{Name: string(from.uid), UID: uuid.NewUUID(), CreationTimestamp: metav1.Now()}
		}
		record.Spec = migration.ImportSpec{Object: runtime.RawExtension{Raw: reference}}
		record.Status = migration.ImportStatus{SourceResourceVersion: from.resourceVersion, Fingerprint: from.fingerprint, Object: &runtime.RawExtension{Raw: content}}
		return record, nil
	})
	err = r.records.Storage.GuaranteedUpdate(ctx, key, &migration.Import{}, true, nil, update, false, nil)
	return storeerr.InterpretUpdateError(err, r.records.DefaultQualifiedResource, string(from.uid))
}

// forget deletes the record of an object, if there is one.
func (r *REST) forget(ctx context.Context, name string) error {
	key, err := r.records.KeyFunc(ctx, name)
	if err != nil {
		return err
	}
	err = r.records.Storage.Delete(ctx, key, &migration.Import{}, nil, storage.ValidateAllObjectFunc, false, nil, storage.DeleteOptions{})
	if storage.IsNotFound(err) {
		return nil
	}
	return storeerr.InterpretDeleteError(err, r.records.DefaultQualifiedResource, name)
}
