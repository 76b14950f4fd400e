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

// Watch is the store's Watch, but answers 410 Gone if the storage has not reached the
// resourceVersion. The store would accept such a watch and then leave out every event up to that
// version, for days if need be. That is how informers go blind when the storage is restored from a
// backup, or replaced as on the way from CRDs to this server. On 410 they list again.
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

// List is the store's List, but fails at once if the storage has not reached the resourceVersion.
// The store would wait for three seconds and then have the client retry. The client would retry ten
// times before its informer starts again.
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

// reach holds the resourceVersion that a client requests and the current one of the storage.
type reach struct {
	requested, current uint64
}

func (r reach) isExceeded() bool {
	return r.requested > r.current
}

// reach asks the storage for its current resourceVersion, by reading one key, if the client
// requests a particular one.
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
