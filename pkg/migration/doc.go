// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from the
// CustomResourceDefinitions of Metacontroller to this server, and back, while they are used.
//
// Both sides are reached at once. The definitions get a second version, v0migration, which stays readable when the APIService of
// v1alpha1 leads to this server. This server takes objects by an API group of its own (package imports of the registry) before that.
// The APIService is switched in place by one update, so the API is served all the time. The steps are methods of
// [Migration], in the order in which they are done:
//
//	Check → Copy → Switch → Verify → Release → Finish, and Back from wherever it is
//
// How far a migration has come is derived from the cluster (situation.go), never from files: a step that was interrupted
// is done again.
package migration
