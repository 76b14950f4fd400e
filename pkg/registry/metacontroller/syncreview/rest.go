// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncreview

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Reviewer answers reviews.
type Reviewer interface {
	// ReviewSyncs sets the status of a review, whose spec is valid. The warnings are for its author. The error is
	// one of the API.
	ReviewSyncs(ctx context.Context, author rights.User, review *v1alpha1.SyncReview) (warnings []string, err error)
}

// REST serves the resource.
type REST struct{ reviewer Reviewer }

var (
	_ rest.Storage              = &REST{}
	_ rest.Creater              = &REST{}
	_ rest.Scoper               = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// NewREST returns the storage of SyncReviews. If reviewer is nil, as in a server without controllers, none is
// answered.
func NewREST(reviewer Reviewer) *REST { return &REST{reviewer} }

// New returns an empty review.
func (r *REST) New() runtime.Object { return &v1alpha1.SyncReview{} }

// Destroy does nothing: nothing is stored.
func (r *REST) Destroy() {}

// NamespaceScoped returns false.
func (r *REST) NamespaceScoped() bool { return false }

// GetSingularName returns the singular name of the resource.
func (r *REST) GetSingularName() string { return "syncreview" }

// Create carries out a review.
func (r *REST) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	review := obj.(*v1alpha1.SyncReview)
	if errs := validation.ValidateSyncReview(review); len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("SyncReview").GroupKind(), review.Name, errs)
	}
	if validate != nil {
		if err := validate(ctx, review.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if r.reviewer == nil {
		return nil, apierrors.NewServiceUnavailable("this server runs no controllers, so it cannot answer SyncReviews")
	}
	author, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewInternalError(errors.New("the user of the request is not known"))
	}
	review.Status = v1alpha1.SyncReviewStatus{}
	warnings, err := r.reviewer.ReviewSyncs(ctx, userOf(author), review)
	for _, text := range warnings {
		warning.AddWarning(ctx, "", text)
	}
	if err != nil {
		return nil, err
	}
	return review, nil
}

func userOf(author user.Info) rights.User {
	return rights.User{Name: author.GetName(), UID: author.GetUID(), Groups: author.GetGroups(), Extra: author.GetExtra()}
}
