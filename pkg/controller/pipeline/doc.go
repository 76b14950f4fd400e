// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline holds the types that the stages of a sync pass to one another:
//
//	observe ──Snapshot──▶ hook ──Response──▶ plan ──Plan──▶ act ──Outcome──▶ report
//
// It is data: it does no I/O and imports no stage. These packages make and read the types:
//
//	type        made by                     read by
//	Snapshot    observe                     hook, plan, rollout, act, writeloop
//	Response    hook, rollout               plan
//	NoOp        an earlier sync             hook
//	RelatedRule hook (customize)            observe/related
//	Plan, Step  plan, parentcontroller      writeloop, act
//	Outcome     act                         observe, writeloop, parentcontroller, plan.UpToDateCache
//	WriteLoop   writeloop                   parentcontroller, report
//
// An Op is what a step does. The table in plan.go has all properties of each Op.
package pipeline
