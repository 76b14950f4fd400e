// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writeloop slows down writes that would never end: of a child that something else
// keeps changing back, and of an answer that a hook changes with every call.
//
// Guard is given the plan of each sync and takes out the writes that it is too early for; then
// it is given the outcomes of the others. For each object it keeps a history of its writes. A
// Registry has the guards of all hosted controllers of the process, and finds out which two of
// them undo each other's writes.
//
// The package does no I/O, and the caller passes the time.
package writeloop
