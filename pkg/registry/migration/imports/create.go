// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
)

// Create imports an object, also one that was imported before. The answer says what that did. The object comes before its
// record: if the server ends in between, the next import finds the object as it should be.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	request := obj.(*migration.Import)
	from, err := r.read(request)
	if err != nil {
		return nil, err
	}
	if from.object != nil {
		errs, warnings := from.Check(from.object)
		if len(errs) > 0 {
			return nil, apierrors.NewInvalid(metacontroller.SchemeGroupVersion.WithKind(from.Kind).GroupKind(), from.name, errs)
		}
		for _, text := range warnings {
			warning.AddWarning(ctx, "", text)
		}
		if dryrun.IsDryRun(options.DryRun) && r.advise != nil {
			r.advise(ctx, v1alpha1.SchemeGroupVersion.WithKind(from.Kind), from.name, from.object)
		}
	}
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	put := r.put
	if request.Spec.Exported {
		put = r.noteExport
	}
	result, err := put(ctx, from, request.Spec.Overwrite, dryrun.IsDryRun(options.DryRun))
	if err != nil {
		return nil, err
	}
	answer := &migration.Import{ObjectMeta: metav1.ObjectMeta{Name: string(from.uid)}, Spec: request.Spec}
	answer.Status = migration.ImportStatus{Result: result, SourceResourceVersion: from.resourceVersion}
	return answer, nil
}

// put brings an object into the storage, if it must, and notes from where it came.
func (r *REST) put(ctx context.Context, from *source, overwrite, dryRun bool) (migration.ImportResult, error) {
	stored, err := from.Get(ctx, from.namespace, from.name)
	if err != nil {
		return "", err
	}
	known, err := r.record(ctx, string(from.uid))
	if err != nil {
		return "", err
	}
	now := situation{source: from.state, deleted: from.object == nil, overwrite: overwrite}
	if known != nil {
		now.imported = &state{resourceVersion: known.Status.SourceResourceVersion, fingerprint: known.Status.Fingerprint}
		now.hasBase = known.Status.Object != nil
	}
	if stored != nil {
		is, err := r.stateOf(stored)
		if err != nil {
			return "", err
		}
		now.stored = &is
	}
	result, err := now.decide()
	if err != nil {
		return "", apierrors.NewConflict(from.Resource, from.name, err)
	}
	switch result {
	case migration.ImportCreated:
		_, err = from.Put(ctx, from.object.DeepCopyObject(), nil, dryRun)
	case migration.ImportUpdated:
		var updated runtime.Object
		if updated, err = from.over(stored); err == nil {
			_, err = from.Put(ctx, updated, stored, dryRun)
		}
	case migration.ImportMerged:
		var merged runtime.Object
		if merged, err = r.merge(from, stored, known.Status.Object.Raw); err != nil {
			return "", apierrors.NewConflict(from.Resource, from.name, err)
		}
		_, err = from.Put(ctx, merged, stored, dryRun)
	case migration.ImportDeleted:
		err = from.Delete(ctx, stored, dryRun)
	}
	if err != nil || dryRun {
		return result, err
	}
	if from.object == nil {
		return result, r.forget(ctx, string(from.uid))
	}
	return result, r.note(ctx, from, from.object)
}

// noteExport notes that the other server has the object as it is here.
func (r *REST) noteExport(ctx context.Context, from *source, _, dryRun bool) (migration.ImportResult, error) {
	stored, err := from.Get(ctx, from.namespace, from.name)
	if err != nil {
		return "", err
	}
	if stored == nil {
		return "", apierrors.NewNotFound(from.Resource, from.name)
	}
	is, err := r.stateOf(stored)
	if err != nil {
		return "", err
	}
	if is.uid != from.uid {
		return "", apierrors.NewConflict(from.Resource, from.name, fmt.Errorf("it has the UID %s, not %s", is.uid, from.uid))
	}
	if dryRun {
		return migration.ImportUnchanged, nil
	}
	from.fingerprint = is.fingerprint
	return migration.ImportUnchanged, r.note(ctx, from, stored)
}

// over returns the object as it takes the place of the stored one, which keeps its status.
func (s *source) over(stored runtime.Object) (runtime.Object, error) {
	object := s.object.DeepCopyObject()
	s.KeepStatus(object, stored)
	of, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	before, err := meta.Accessor(stored)
	if err != nil {
		return nil, err
	}
	of.SetManagedFields(append(withoutStatus(of.GetManagedFields()), ofStatus(before.GetManagedFields())...))
	return object, nil
}
