// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live serves the kinds that are not stored. Syncs and HookCalls come from the controllers' memory; the
// controllers answer SyncReviews and ResyncRequests.
//
// Clients can get, list and watch Syncs (sync.go) and HookCalls (hookcall.go), but cannot write them. The [Rows] keep
// the objects while clients read them, and storage.go serves them. A user who gets one HookCall also gets its bodies,
// and needs the rights to the objects in them.
//
// Clients create SyncReviews (syncreview.go), and ResyncRequests in a subresource of controllers (resync.go). The
// package validates them, and returns them with a status from the controller loop of the process.
package live
