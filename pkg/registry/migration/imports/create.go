// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"errors"
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

// put stores or removes an object as the import decides, and records from where the object came. The storage makes put decide again if
// the server writes the object at the same time, for instance its status.
func (r *REST) put(ctx context.Context, from *source, overwrite, dryRun bool) (migration.ImportResult, error) {
	known, err := r.record(ctx, string(from.uid))
	if err != nil {
		return "", err
	}
	var result migration.ImportResult
	if from.object == nil {
		result, err = r.remove(ctx, from, known, overwrite, dryRun)
	} else {
		result, err = r.store(ctx, from, known, overwrite, dryRun)
	}
	if err != nil || dryRun {
		return result, err
	}
	if from.object == nil {
		return result, r.forget(ctx, string(from.uid))
	}
	return result, r.note(ctx, from, from.object)
}

// store stores an object that the other server has, unless it stays as it is here.
func (r *REST) store(ctx context.Context, from *source, known *migration.Import, overwrite, dryRun bool) (migration.ImportResult, error) {
	var result migration.ImportResult
	err := from.Put(ctx, from.namespace, from.name, dryRun, func(stored runtime.Object) (replacement runtime.Object, err error) {
		if result, err = r.decide(from, known, stored, overwrite); err != nil {
			return nil, err
		}
		return r.replacement(from, known, stored, result)
	})
	return result, err
}

// remove removes an object that was deleted at the other server, unless it stays here.
func (r *REST) remove(ctx context.Context, from *source, known *migration.Import, overwrite, dryRun bool) (migration.ImportResult, error) {
	var result migration.ImportResult
	err := from.Delete(ctx, from.namespace, from.name, dryRun, func(stored runtime.Object) (err error) {
		result, err = r.decide(from, known, stored, overwrite)
		if err == nil && result != migration.ImportDeleted {
			err = errKept
		}
		return err
	})
	switch {
	case errors.Is(err, errKept):
		return result, nil
	case apierrors.IsNotFound(err):
		return r.decide(from, known, nil, overwrite)
	}
	return result, err
}

// errKept ends the deletion of an object that stays.
var errKept = errors.New("the object is kept")

// decide returns what the import does to what is stored.
func (r *REST) decide(from *source, known *migration.Import, stored runtime.Object, overwrite bool) (migration.ImportResult, error) {
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
	return result, nil
}

// replacement returns what is to be stored for a result; nil if nothing is.
func (r *REST) replacement(from *source, known *migration.Import, stored runtime.Object, result migration.ImportResult) (runtime.Object, error) {
	switch result {
	case migration.ImportCreated:
		return from.object.DeepCopyObject(), nil
	case migration.ImportUpdated:
		return from.over(stored)
	case migration.ImportMerged:
		merged, err := r.merge(from, stored, known.Status.Object.Raw)
		if err != nil {
			return nil, apierrors.NewConflict(from.Resource, from.name, err)
		}
		return merged, nil
	}
	return nil, nil
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
