// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Watch is that of the store, except that one from a resourceVersion which the storage has not reached is answered with
// 410 Gone. The store would accept it and then leave out every event up to that version, for days if need be: that is
// how informers go blind when the storage was restored from a backup or replaced, as on the way from CRDs to this
// server. On 410 they list anew.
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	reach, err := r.reach(ctx, options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if reach.isExceeded() {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf(
			"resourceVersion %d is not of this storage, which is at %d; it may have been restored or replaced: list %s anew",
			reach.requested, reach.current, r.DefaultQualifiedResource))
	}
	return r.Store.Watch(ctx, options)
}

// List is that of the store, except that one from a resourceVersion which the storage has not reached fails at once. The store
// would wait for it for three seconds, and then tell the client to retry, which does so ten times before the informer
// that is behind it learns that it has to begin anew.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	reach, err := r.reach(ctx, options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if reach.isExceeded() {
		return nil, storage.NewTooLargeResourceVersionError(reach.requested, reach.current, 0)
	}
	return r.Store.List(ctx, options)
}

// reach is how far a client wants the storage to be, and how far it is.
type reach struct {
	requested, current uint64
}

func (r reach) isExceeded() bool {
	return r.requested > r.current
}

// reach asks the storage where it is, which is a read of one key, only if a particular version is requested.
func (r *REST) reach(ctx context.Context, resourceVersion string) (reach, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return reach{}, nil
	}
	requested, err := r.Storage.Versioner().ParseResourceVersion(resourceVersion)
	if err != nil {
		return reach{}, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q is none that this server has given out", resourceVersion))
	}
	current, err := r.Storage.Storage.GetCurrentResourceVersion(ctx)
	if err != nil {
		return reach{}, apierrors.NewInternalError(fmt.Errorf("reading the current resourceVersion of %s: %w", r.DefaultQualifiedResource, err))
	}
	return reach{requested: requested, current: current}, nil
}
