// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner takes a parent from the caches to a plan, for syncs and for previews.
//
// Planner goes through the stages that write nothing: observe, hook, rollout and plan. State is what it keeps of a
// parent between two syncs.
package planner
