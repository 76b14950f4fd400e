// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns CompositeController and DecoratorController objects into running
// controllers, and writes the status of these objects.
//
// A Reconciler exists for each of the two kinds. It reads the controller objects from the informers of our own API.
// For each of them it resolves the spec, and starts, replaces or stops a [parentcontroller.Controller]. It writes
// the controller objects: their status, and the finalizer that keeps such an object until package drain has removed
// the controller's finalizer from all parents. On the host, the package reads discovery and the Secrets and
// ConfigMaps of hooks, writes events, and creates reviews of what service accounts may do. It writes parents only
// through drain.
//
// Read reconcile.go first: reconcile follows the life of a controller object. state.go has what is known of the
// object, running.go starts, replaces and stops its controller, and lets it run only while its service account has
// the rights that it needs. queue.go has the queue and everything that enqueues an object besides its own events,
// finalizer.go is about finalizers, deletion.go decides how long a controller that is being deleted finalizes parents,
// and status.go writes the status.
package lifecycle
