// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live makes the REST storage of a kind whose objects are not stored: controllers have them in memory. They
// can be read, listed and watched, and not written. It takes a [Kind], which holds what is particular to the kind,
// and the [Rows] that keep the objects while clients read them.
package live
