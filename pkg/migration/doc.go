// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from
// the CustomResourceDefinitions of Metacontroller to this server, and back. Nothing refers to the UIDs of these
// objects, so they are copied by creating them through the public API.
//
// Both sides are reached at once: the APIService of v1alpha1 leads to the server, and the definitions serve a second
// version, v0migration. A ValidatingAdmissionPolicy, which the cluster and the server both evaluate, refuses all
// other writes meanwhile. Its annotation says which side has the objects that count (side.go). Everything else is
// read from the cluster, so a step that was killed is done again, or undone by the opposite one:
//
//	Switch: stop Metacontroller, freeze, APIService → server (held), copy, preview, server counts, thaw, run
//	Back:   freeze, hold, copy, definitions count, clean the server, APIService → definitions, thaw, start it again
package migration
