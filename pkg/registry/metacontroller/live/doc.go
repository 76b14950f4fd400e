// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live makes the REST storage of the kinds that are answered from the memory of the controllers and not stored.
//
// Syncs (sync.go) and HookCalls (hookcall.go) can be read, listed and watched, and not written. The [Rows] keep the
// objects while clients read them, and storage.go serves them. A reader of one HookCall gets its bodies, and needs the
// rights to the objects in them.
//
// SyncReviews (syncreview.go) and ResyncRequests, which are created in a subresource of controllers (resync.go), are
// validated and answered with a status from the controller loop of the process.
package live
