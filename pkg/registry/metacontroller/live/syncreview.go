// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

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

// SyncReviewer answers SyncReviews.
type SyncReviewer interface {
	// ReviewSyncs sets the status of a review, whose spec is valid. The warnings are for its author. The error is
	// one of the API.
	ReviewSyncs(ctx context.Context, author rights.User, review *v1alpha1.SyncReview) (warnings []string, err error)
}

// syncReviewStorage answers SyncReviews and stores none.
type syncReviewStorage struct{ reviewer SyncReviewer }

var (
	_ rest.Storage              = &syncReviewStorage{}
	_ rest.Creater              = &syncReviewStorage{}
	_ rest.Scoper               = &syncReviewStorage{}
	_ rest.SingularNameProvider = &syncReviewStorage{}
)

// NewSyncReviews returns the storage of SyncReviews. If reviewer is nil, as in a server without controllers, none is
// answered.
func NewSyncReviews(reviewer SyncReviewer) rest.Storage { return &syncReviewStorage{reviewer} }

// New returns an empty review.
func (r *syncReviewStorage) New() runtime.Object { return &v1alpha1.SyncReview{} }

// Destroy does nothing: nothing is stored.
func (r *syncReviewStorage) Destroy() {}

// NamespaceScoped returns false.
func (r *syncReviewStorage) NamespaceScoped() bool { return false }

// GetSingularName returns the singular name of the resource.
func (r *syncReviewStorage) GetSingularName() string { return "syncreview" }

// Create carries out a review.
func (r *syncReviewStorage) Create(
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

func userOf(info user.Info) rights.User {
	return rights.User{Name: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: info.GetExtra()}
}
