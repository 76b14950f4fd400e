// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package composite makes the parentcontroller.Spec of a CompositeController.
//
// Resolve reads the controller object and looks up its types with discovery; it changes nothing.
//
// A CompositeController has one parent type. Its children are those that the parent controls and
// its label selector matches, and orphans that match are adopted. Children may be rolled out one
// after the other.
package composite
