// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parentcontroller runs one CompositeController or DecoratorController.
//
// It takes a Spec: the spec of the controller object with its types, schemas and selectors resolved. Package resolve
// makes it; what differs between the two kinds is in Spec.Kind. A Controller runs it: events of the informers, timers
// and the results of earlier syncs enqueue parents, and each sync of a parent goes once through the pipeline: observe,
// hook, plan, act, report. See sync for one pass, syncqueue.Cause for what enqueues a parent, and parentState for what
// one sync leaves to the next.
//
// A Controller calls hooks, writes to the host, and creates events and metrics, all through the packages of the
// pipeline and the Dependencies. Health and RuntimeProblem return the state of the controller. Package lifecycle writes
// the status of the controller object, and decides when a Controller is made, replaced and stopped.
package parentcontroller
