// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

// ResyncSubresource is the name of the subresource.
const ResyncSubresource = "resync"

// resyncKind is the kind of a request.
const resyncKind = "ResyncRequest"

// ResyncRequester enqueues the parents of a controller that the spec selects, unless they are only to be counted, and
// returns how many there are. The spec is valid.
type ResyncRequester func(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec,
	onlyCount bool) (v1alpha1.ResyncRequestStatus, error)

// resyncStorage serves the subresource of one kind of controllers.
type resyncStorage struct {
	controllerKind string
	controllers    rest.Getter
	requester      ResyncRequester
}

var (
	_ rest.Storage                  = &resyncStorage{}
	_ rest.NamedCreater             = &resyncStorage{}
	_ rest.GroupVersionKindProvider = &resyncStorage{}
)

// NewResync returns the storage of the subresource resync for the controllers of a kind.
func NewResync(controllerKind string, controllers rest.Getter, requester ResyncRequester) rest.Storage {
	return &resyncStorage{controllerKind, controllers, requester}
}

// New returns an empty request.
func (r *resyncStorage) New() runtime.Object { return &v1alpha1.ResyncRequest{} }

// Destroy does nothing: nothing is stored.
func (r *resyncStorage) Destroy() {}

// GroupVersionKind returns the kind of a request.
func (r *resyncStorage) GroupVersionKind(containing schema.GroupVersion) schema.GroupVersionKind {
	return containing.WithKind(resyncKind)
}

// Create has parents of the controller of that name synced.
func (r *resyncStorage) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	request, ok := obj.(*v1alpha1.ResyncRequest)
	if !ok {
		return nil, apierrors.NewBadRequest("the body must be a " + resyncKind)
	}
	if errs := validation.ValidateResyncRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind(resyncKind).GroupKind(), name, errs)
	}
	if validate != nil {
		if err := validate(ctx, request.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if _, err := r.controllers.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return nil, err
	}
	onlyCount := options != nil && slices.Contains(options.DryRun, metav1.DryRunAll)
	found, err := r.requester(ctx, v1alpha1.ControllerReference{Kind: r.controllerKind, Name: name}, &request.Spec,
		onlyCount)
	if err != nil {
		return nil, unavailable(err)
	}
	return &v1alpha1.ResyncRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: request.Spec,
		Status: v1alpha1.ResyncRequestStatus{Parents: found.Parents, Paused: found.Paused, Notes: resyncNotes(&found)},
	}, nil
}

// resyncNotes returns why parents are not synced.
func resyncNotes(found *v1alpha1.ResyncRequestStatus) []string {
	switch {
	case found.Paused == 1:
		return []string{"1 parent is paused, by its annotation " + v1alpha1.PausedAnnotation +
			" or by the controller's spec.paused, and stays paused until you remove that"}
	case found.Paused > 1:
		return []string{fmt.Sprintf("%d parents are paused, by their annotation %s or by the controller's spec.paused, "+
			"and stay paused until you remove that", found.Paused, v1alpha1.PausedAnnotation)}
	case found.Parents == 0:
		return []string{"the running controller has no such parent"}
	}
	return nil
}
