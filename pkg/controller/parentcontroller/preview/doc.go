// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview shows what a sync of a parent would do.
//
// Previewer belongs to one controller. A preview goes the way of a sync through a copy of the controller's planner,
// whose hooks are called for the preview or whose answers are given, and writes nothing but dry runs. Before a hook or
// the preview shows an object, the user of the preview must have the right to get it (rights.go). A parent need not
// exist (parents.go).
package preview
