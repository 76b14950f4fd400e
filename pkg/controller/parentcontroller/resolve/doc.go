// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve makes the parentcontroller.Spec of a CompositeController or DecoratorController. It reads the
// controller object and looks up its types with discovery; it changes nothing.
//
// A CompositeController has one parent type. Its children are those that the parent controls and its label selector
// matches, and orphans that match are adopted. Children may be rolled out one after the other.
//
// A DecoratorController has any number of target types, which are its parents; labels and annotations select the
// targets. Its children, the attachments, are the objects that the target controls and that have an annotation with the
// name of the controller. A DecoratorController adopts nothing and does not roll out attachments.
package resolve
