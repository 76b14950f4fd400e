// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writeloop slows down writes that would never end: because something else keeps changing a child back, or
// because a hook changes its answer with every call.
//
// A Guard takes the plan of each sync, and removes the writes that must wait. Then it takes the outcomes of the other
// writes. It keeps a history of the writes of each object. A Registry has the guards of all parent controllers of the
// process, and finds out which of them undo each other's writes.
//
// The package does no I/O, and the caller passes the time.
package writeloop
