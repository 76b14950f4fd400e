// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decorator makes the parentcontroller.Spec of a DecoratorController.
//
// Resolve reads the controller object and looks up its types with discovery; it changes nothing.
//
// A DecoratorController has any number of target types, which are its parents; labels and
// annotations select the targets. Its children, the attachments, are those that carry an annotation
// with the name of the controller and that the target controls: nothing is adopted. Attachments are
// not rolled out.
package decorator
