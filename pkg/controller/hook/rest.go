// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// resting is the response of an answer with that hash if it is the one that is known to leave
// nothing to write, else nil. Where what is overlooked in answers is logged, all are read.
func resting(ctx context.Context, rest *stage.Rest, hash uint64) *stage.Response {
	if rest == nil || rest.Answer != hash || showsOddities(ctx) {
		return nil
	}
	return &stage.Response{ResyncAfter: rest.ResyncAfter, Hash: hash, Rests: true}
}
