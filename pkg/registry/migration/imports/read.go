// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// Get returns the Import of the object with a UID.
func (r *REST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	known, err := r.record(ctx, name)
	if err != nil {
		return nil, err
	}
	if known != nil {
		return r.complete(ctx, known)
	}
	for _, importer := range r.importers {
		objects, _, err := importer.List(ctx, 0, "")
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if of, err := meta.Accessor(object); err == nil && string(of.GetUID()) == name {
				return r.importOf(importer, object, nil)
			}
		}
	}
	return nil, apierrors.NewNotFound(r.records.DefaultQualifiedResource, name)
}

// complete fills in what became of the object of a record.
func (r *REST) complete(ctx context.Context, record *migration.Import) (*migration.Import, error) {
	var of metav1.PartialObjectMetadata
	if err := json.Unmarshal(record.Spec.Object.Raw, &of); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the record of import %s: %w", record.Name, err))
	}
	index := slices.IndexFunc(r.importers, func(i *resource.Importer) bool { return i.Kind == of.Kind })
	if index < 0 {
		return nil, apierrors.NewInternalError(fmt.Errorf("the record of import %s is of kind %q", record.Name, of.Kind))
	}
	object, err := r.importers[index].Get(ctx, of.Namespace, of.Name)
	if err != nil {
		return nil, err
	}
	if is, err := meta.Accessor(object); object != nil && (err != nil || string(is.GetUID()) != record.Name) {
		object = nil
	}
	return r.importOf(r.importers[index], object, record)
}

// importOf returns the Import of a stored object, or of one that was deleted here. The record is nil if it was never imported.
func (r *REST) importOf(importer *resource.Importer, object runtime.Object, record *migration.Import) (*migration.Import, error) {
	shown := &migration.Import{}
	if record != nil {
		shown = record.DeepCopy()
	}
	if object == nil {
		shown.Status.Changed, shown.Status.Object = true, nil
		return shown, nil
	}
	of, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	is, err := r.stateOf(object)
	if err != nil {
		return nil, err
	}
	encoded, err := runtime.Encode(r.codec, object)
	if err != nil {
		return nil, err
	}
	shown.Status.Changed = record == nil || record.Status.Fingerprint != is.fingerprint
	shown.Status.Object = &runtime.RawExtension{Raw: encoded}
	if record != nil {
		return shown, nil
	}
	reference, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: importer.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: of.GetNamespace(), Name: of.GetName(), UID: of.GetUID()},
	})
	shown.ObjectMeta = metav1.ObjectMeta{Name: string(of.GetUID()), CreationTimestamp: of.GetCreationTimestamp()}
	shown.Spec.Object = runtime.RawExtension{Raw: reference}
	return shown, err
}

// place is where a page of a list begins.
type place struct {
	// Kind is the index of an importer. After the last one come the objects that were deleted here.
	Kind int    `json:"kind"`
	Next string `json:"next,omitempty"`
}

// List returns the Imports of all objects that are stored, and of those that were imported and deleted here since. Kind comes
// after kind. Those that were deleted here are on a page of their own, however many there are.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	at, err := readPlace(options.Continue)
	if err != nil {
		return nil, err
	}
	records, err := r.allRecords(ctx)
	if err != nil {
		return nil, err
	}
	shown := &migration.ImportList{}
	for ; at.Kind < len(r.importers); at = (place{Kind: at.Kind + 1}) {
		left := int64(0)
		if options.Limit > 0 {
			if left = options.Limit - int64(len(shown.Items)); left <= 0 {
				return shown, writePlace(shown, at)
			}
		}
		next, err := r.appendPage(ctx, shown, at, left, records)
		if err != nil {
			return nil, err
		}
		if next != "" {
			return shown, writePlace(shown, place{Kind: at.Kind, Next: next})
		}
	}
	if options.Limit > 0 && len(shown.Items) >= int(options.Limit) {
		return shown, writePlace(shown, at)
	}
	return shown, r.appendDeleted(ctx, shown, records)
}

// appendPage appends the Imports of stored objects of one kind. It returns how to continue.
func (r *REST) appendPage(ctx context.Context, to *migration.ImportList, at place, limit int64, records map[string]*migration.Import) (next string, err error) {
	importer := r.importers[at.Kind]
	objects, page, err := importer.List(ctx, limit, at.Next)
	if err != nil {
		return "", err
	}
	to.ResourceVersion = page.GetResourceVersion()
	for _, object := range objects {
		of, err := meta.Accessor(object)
		if err != nil {
			return "", err
		}
		shown, err := r.importOf(importer, object, records[string(of.GetUID())])
		if err != nil {
			return "", err
		}
		to.Items = append(to.Items, *shown)
	}
	return page.GetContinue(), nil
}

// appendDeleted appends the Imports of objects that were deleted here.
func (r *REST) appendDeleted(ctx context.Context, to *migration.ImportList, records map[string]*migration.Import) error {
	for _, record := range records {
		shown, err := r.complete(ctx, record)
		if err != nil {
			return err
		}
		if shown.Status.Object == nil {
			to.Items = append(to.Items, *shown)
		}
	}
	return nil
}

// allRecords returns all records by name.
func (r *REST) allRecords(ctx context.Context) (map[string]*migration.Import, error) {
	everything := r.records.PredicateFunc(labels.Everything(), fields.Everything())
	list, err := r.records.ListPredicate(ctx, everything, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	records := map[string]*migration.Import{}
	for i := range list.(*migration.ImportList).Items {
		record := &list.(*migration.ImportList).Items[i]
		records[record.Name] = record
	}
	return records, nil
}

func readPlace(token string) (at place, err error) {
	if token == "" {
		return at, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(decoded, &at)
	}
	if err != nil || at.Kind < 0 {
		return at, apierrors.NewBadRequest(fmt.Sprintf("continue %q is none that this server has given out", token))
	}
	return at, nil
}

func writePlace(list *migration.ImportList, at place) error {
	encoded, err := json.Marshal(at)
	list.Continue = base64.RawURLEncoding.EncodeToString(encoded)
	return err
}
