// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// FollowSyncs tells the Syncs of all parents of the controllers that run in this process, in one call, and from then on those that have
// changed and those that are gone, until ctx ends, the loop ends or tell returns an error. It returns the reason. The Syncs
// belong to tell.
func (h *Handle) FollowSyncs(ctx context.Context, tell func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error) error {
	return h.use(ctx, func(ctx context.Context, l *loop) error { return l.dependencies.Syncs.Follow(ctx, tell) })
}
