// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain removes the finalizers of controllers from objects of the host, and finds those
// that were left behind.
//
// A Drainer takes resources, the name of a finalizer and an account. It removes the finalizer from all objects of the
// resources. A Scanner searches for the finalizer of a controller on all objects of a resource; one scan of the objects
// serves all controllers of a kind. Both use the server's identity and read directly from the host. Package act writes
// the removals with the identity of the controller's account.
//
// A removal and a search may take long. So Drain and Search return at once: they report whether the result is known,
// and call notify when it is. Workers take the jobs in turns (queue.go), some objects at a time, so that a type with
// many objects does not delay the others. removal.go is one removal, and scanner.go has the scans.
package drain
