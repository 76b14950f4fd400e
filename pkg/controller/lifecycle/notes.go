// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// errNew tells that a spec is too new for its object to be written.
var errNew = errors.New("the spec has just changed")

// mayWrite returns errNew as long as the object is to be left alone.
func (h *controllerEntry) mayWrite(object declared) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isNew(object, time.Now()) {
		return errNew
	}
	return nil
}

// free lets the host remove a controller's object that is being deleted.
func (r *Reconciler) free(ctx context.Context, object declared) error {
	if !slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return name == v1alpha1.DrainFinalizer })
	_, err := r.setFinalizers(ctx, object, finalizers)
	return err
}

// setFinalizers makes the object have these finalizers, if nobody has changed
// it meanwhile.
func (r *Reconciler) setFinalizers(ctx context.Context, object declared, finalizers []string) (declared, error) {
	var patch struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
			Finalizers      []string  `json:"finalizers"`
		} `json:"metadata"`
	}
	patch.Metadata.UID, patch.Metadata.ResourceVersion, patch.Metadata.Finalizers = object.GetUID(), object.GetResourceVersion(), finalizers
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return r.own.patch(ctx, object.GetName(), body)
}

// setHeld notes the types of which parents may be held.
func (r *Reconciler) setHeld(ctx context.Context, object declared, held []v1alpha1.ResourceRule) (declared, error) {
	changed := object.DeepCopyObject().(declared)
	changed.GetStatus().HeldResources = held
	return r.own.updateStatus(ctx, changed)
}

// settle says what is next after a write of a controller's object or its parents: whether
// that is done, and the error if it failed. One that was overtaken, was put off, or has
// only begun is tried again.
func settle(ctx context.Context, name string, err error) (done bool, failure error) {
	if err == nil {
		return true, nil
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, errTurnOver) || errors.Is(err, errNew) {
		return false, nil
	}
	klog.FromContext(ctx).Error(err, "Cannot hold or let go", "controller", name)
	return false, err
}
