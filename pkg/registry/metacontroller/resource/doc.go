// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource makes the REST storage of the kinds that are stored: CompositeControllers and
// DecoratorControllers (controllers.go), and ControllerRevisions (controllerrevision.go). Each has
// a [Storage], which serves the resource and its status subresource. It touches nothing but the
// storage that it is given.
//
// What the kinds have in common is here too: how metadata, content and status are kept apart on
// each way to write, when the generation is raised (strategy.go), tables (table.go), the columns of
// both kinds of controllers (controllertable.go), and watches from a resourceVersion that the
// storage has not reached (storage.go).
//
// Objects behave like objects of a CRD, because clients expect that: the main resource cannot touch the status, the
// status subresource cannot touch anything else, an update needs a resourceVersion, and no update creates an object.
package resource
