// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"

// ApplyStrategy names, as flags do, a way to make children what hooks want.
type ApplyStrategy string

const (
	// DynamicApply merges three ways, with what was last applied in an annotation.
	DynamicApply ApplyStrategy = "dynamic-apply"
	// ServerSideApply has the host merge.
	ServerSideApply ApplyStrategy = "server-side-apply"
)

func (s ApplyStrategy) engine() plan.Engine {
	if s == ServerSideApply {
		return plan.ServerSideApply
	}
	return plan.DynamicApply
}
