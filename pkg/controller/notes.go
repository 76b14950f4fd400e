// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// errNew tells that a spec is too new for its object to be written.
var errNew = errors.New("the spec has just changed")

// mayWrite returns errNew as long as the object is to be left alone.
func (h *hostedComposite) mayWrite(object *v1alpha1.CompositeController) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isNew(object, time.Now()) {
		return errNew
	}
	return nil
}

// free lets the host remove a CompositeController that is being deleted.
func (c *composites) free(ctx context.Context, object *v1alpha1.CompositeController) error {
	if !slices.Contains(object.Finalizers, v1alpha1.DrainFinalizer) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(object.Finalizers), func(name string) bool { return name == v1alpha1.DrainFinalizer })
	_, err := c.setFinalizers(ctx, object, finalizers)
	return err
}

// setFinalizers makes the CompositeController have these finalizers, if nobody has changed
// it meanwhile.
func (c *composites) setFinalizers(ctx context.Context, object *v1alpha1.CompositeController, finalizers []string) (*v1alpha1.CompositeController, error) {
	var patch struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
			Finalizers      []string  `json:"finalizers"`
		} `json:"metadata"`
	}
	patch.Metadata.UID, patch.Metadata.ResourceVersion, patch.Metadata.Finalizers = object.UID, object.ResourceVersion, finalizers
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return c.client.MetacontrollerV1alpha1().CompositeControllers().Patch(ctx, object.Name, types.MergePatchType, body, metav1.PatchOptions{})
}

// setHeld notes the types of which parents may be held.
func (c *composites) setHeld(ctx context.Context, object *v1alpha1.CompositeController, held []v1alpha1.ResourceRule) (*v1alpha1.CompositeController, error) {
	changed := object.DeepCopy()
	changed.Status.HeldResources = held
	return c.client.MetacontrollerV1alpha1().CompositeControllers().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// settle says what is next after a write of a CompositeController or its parents: whether
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
