// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner makes the plan for a parent, for syncs and previews. It reads the caches and calls the hooks.
//
// Planner goes through the stages that write nothing: observe, hook, rollout and plan. State is what planning keeps of
// a parent between two syncs.
package planner
