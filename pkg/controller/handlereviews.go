// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// ReviewSyncs sets the status of a review, whose spec is valid. The warnings are for its author. The
// error is one of the API: ErrNotRunning if no loop runs.
func (h *Handle) ReviewSyncs(ctx context.Context, author rights.User, review *v1alpha1.SyncReview) (warnings []string, err error) {
	err = h.use(ctx, func(ctx context.Context, running *loop) (err error) {
		warnings, err = running.reviews.Answer(ctx, author, review)
		return err
	})
	return warnings, err
}
