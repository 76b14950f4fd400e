// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// noOpResponse is the response of an answer with that hash if it is the one that is known to leave
// nothing to write, else nil. Where what is overlooked in answers is logged, all are read.
func noOpResponse(ctx context.Context, rest *pipeline.NoOp, hash uint64) *pipeline.Response {
	if rest == nil || rest.Answer != hash || logsStrictErrors(ctx) {
		return nil
	}
	return &pipeline.Response{ResyncAfter: rest.ResyncAfter, Hash: hash, IsNoOp: true}
}
