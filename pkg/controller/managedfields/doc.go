// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads and rewrites metadata.managedFields, in which the host records who owns which
// fields of an object.
//
// The package takes entries of managedFields, or sets of fields as fieldsV1, and returns parts of objects and new
// entries. It is pure: it does no I/O. It needs no schema, because the sets themselves say what identifies the items of
// lists.
//
// Extract returns the part of an object that a set names, Overlap and ChangeOf compare sets, Change reports what others
// keep, and Managers moves fields between plain writes and server-side apply.
package managedfields
