// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resync

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
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
)

// Subresource is the name of the subresource.
const Subresource = "resync"

// kind is the kind of a request.
const kind = "ResyncRequest"

// Requester enqueues the parents of a controller that the spec selects, unless they are only to be counted, and returns
// how many there are. The spec is valid.
type Requester func(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec,
	onlyCount bool) (v1alpha1.ResyncRequestStatus, error)

// REST serves the subresource of one kind of controllers.
type REST struct {
	controllerKind string
	controllers    rest.Getter
	requester      Requester
}

var (
	_ rest.Storage                  = &REST{}
	_ rest.NamedCreater             = &REST{}
	_ rest.GroupVersionKindProvider = &REST{}
)

// NewREST returns the storage of the subresource resync for the controllers of a kind.
func NewREST(controllerKind string, controllers rest.Getter, requester Requester) *REST {
	return &REST{controllerKind, controllers, requester}
}

// New returns an empty request.
func (r *REST) New() runtime.Object { return &v1alpha1.ResyncRequest{} }

// Destroy does nothing: nothing is stored.
func (r *REST) Destroy() {}

// GroupVersionKind returns the kind of a request.
func (r *REST) GroupVersionKind(containing schema.GroupVersion) schema.GroupVersionKind {
	return containing.WithKind(kind)
}

// Create has parents of the controller of that name synced.
func (r *REST) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	request, ok := obj.(*v1alpha1.ResyncRequest)
	if !ok {
		return nil, apierrors.NewBadRequest("the body must be a " + kind)
	}
	if errs := validation.ValidateResyncRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind(kind).GroupKind(), name, errs)
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
		return nil, live.Unavailable(err)
	}
	answered := &v1alpha1.ResyncRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: request.Spec}
	answered.Status = v1alpha1.ResyncRequestStatus{Parents: found.Parents, Paused: found.Paused, Notes: notes(&found)}
	return answered, nil
}

// notes says why parents are not synced.
func notes(found *v1alpha1.ResyncRequestStatus) []string {
	switch {
	case found.Paused == 1:
		return []string{"1 parent is paused, by its annotation " + v1alpha1.PausedAnnotation +
			" or by the controller's spec.paused, and stays so until that is removed"}
	case found.Paused > 1:
		return []string{fmt.Sprintf("%d parents are paused, by their annotation %s or by the controller's spec.paused, "+
			"and stay so until that is removed", found.Paused, v1alpha1.PausedAnnotation)}
	case found.Parents == 0:
		return []string{"the running controller has no such parent"}
	}
	return nil
}
