// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain removes the finalizers of controllers from objects of the host, and finds those
// that were left behind.
//
// Its input is resources, the name of a finalizer and an account. A Drainer removes the finalizer from all objects of
// the resources. A Scanner searches for the finalizer of a controller on all objects of a resource; one scan of the
// objects serves all controllers of a kind. Both read from the host itself and not from a cache, as the server.
// Package act writes the removals, like the steps of a sync, as the account of the controller.
//
// A removal and a search may take long. So Drain and Search return at once: they report whether the result is known,
// and call notify when it is. The work is done in turns (queue.go) of some objects each so that a type with many
// objects does not delay the others. removal.go is one removal, and scanner.go has the scans.
package drain
