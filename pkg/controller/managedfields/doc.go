// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads and rewrites metadata.managedFields, in which the host records who owns which
// fields of an object.
//
// Entries of managedFields, or sets of fields in their form fieldsV1, come in. Parts of objects
// and new entries go out. The package is pure: it does no I/O. It needs no schema, since the
// sets themselves say what identifies the items of lists.
//
// Extract returns the part of an object that a set names, Overlap and ChangeOf compare two sets, and
// Managers moves fields between plain writes and server-side apply, and tells what others keep.
package managedfields
