// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns CompositeController and DecoratorController objects into running
// controllers, and writes the status of these objects.
//
// A Reconciler exists for each of the two kinds. In come the controller objects, from the informers
// of the own API. For each of them the Reconciler resolves the spec, and starts, replaces or stops
// a hosted.Controller. Out go writes of the controller objects: their status, and the finalizer
// that keeps such an object until package drain has removed the controller's finalizer from all
// parents. On the host, the package reads discovery and the Secrets and ConfigMaps of hooks, writes
// events, asks by reviews what service accounts may do, and writes parents through drain only.
//
// Read reconcile.go first: reconcile is the life of a controller object. state.go is what is
// known of the object, running.go starts, replaces and stops its controller, requeue.go says what
// has an object reconciled again, permission.go lets a controller run only while its service account
// has the rights that it needs, finalizer.go is the story of the finalizers, and status.go writes the
// status.
package lifecycle
