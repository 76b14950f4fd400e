// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview shows what a sync of a parent would do.
//
// A Previewer belongs to one controller. A preview goes through the stages of a sync with a copy of the controller's
// Planner. It calls each hook, or uses the answer in the review. It sends only dry-run writes. run.go follows the
// stages of Controller.syncParent in package parentcontroller, and dryrun.go those of planAndAct.
//
// Before a hook or the preview shows an object, the package checks that the user of the preview has the right to get it
// (rights.go). A parent need not exist (parents.go).
package preview
