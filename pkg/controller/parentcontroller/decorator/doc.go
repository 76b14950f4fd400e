// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decorator builds the parentcontroller.Spec of a DecoratorController.
//
// Resolve reads the controller object and looks up its types with discovery; it changes nothing.
//
// A DecoratorController has any number of target types, which are its parents; labels and annotations select the
// targets. Its children, the attachments, are the objects that the target controls and that have an annotation with the
// name of the controller. A DecoratorController adopts nothing and does not roll out attachments.
package decorator
