// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the controller loop of the process.
//
// It takes the configurations of two API servers: the host cluster, and this process's own server, which stores the
// controller objects. Run makes the clients and what all controllers share, and runs the two reconcilers of lifecycle:
// one for CompositeControllers, one for DecoratorControllers. If several processes share one storage, only the leader
// does this. A Handle gives the API access to what runs.
//
// The packages below are in the order of their imports; each imports only packages that follow it:
//
//	review      answers SyncReviews: what syncs would do
//	lifecycle   controller objects become running controllers; drain removes finalizers
//	parentcontroller
//	            one running controller, its queue, and what the two kinds differ in
//	pipeline    one sync: observe, hook, plan, act, report
//	host        the cluster that is extended: client and writer, caches, discovery
//	revisions   what a ControllerRevision is, and their store
//	feed, leader, managedfields, metrics, object, openapi, permissions, redact, registration, tracing
//	            leaves
//
// Package pipeline contains only types. Package revisions, and the packages listed above host, use them.
package controller
