// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writeloop slows down writes that would never end: of a child that something else
// keeps changing back, and of an answer that a hook changes with every call.
//
// The plan of each sync is passed to a Guard, which takes out the writes that must wait. Then the
// outcomes of the other writes are passed to it. It keeps a history of the writes of each object. A
// Registry has the guards of all hosted controllers of the process, and finds out which two of
// them undo each other's writes.
//
// The package does no I/O, and the caller passes the time.
package writeloop
