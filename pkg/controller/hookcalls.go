// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// FollowHookCalls is FollowSyncs for the last calls of hooks that this process has made, without their bodies.
func (h *Handle) FollowHookCalls(ctx context.Context, tell func(changed []*v1alpha1.HookCall, gone []types.NamespacedName) error) error {
	return h.use(ctx, func(ctx context.Context, l *loop) error {
		return l.dependencies.Calls.Follow(ctx, l.dependencies.Replica, tell)
	})
}

// HookCall returns a call that this process has made, with its bodies, and the rights that one needs who sees it. It is nil if
// the call is not kept.
func (h *Handle) HookCall(ctx context.Context, name types.NamespacedName) (found *v1alpha1.HookCall, required []rights.Required, err error) {
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		found, required = l.dependencies.Calls.Get(name, l.dependencies.Replica)
		return nil
	})
	return found, required, err
}
