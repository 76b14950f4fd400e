// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi reads from the OpenAPI v3 documents of the host how to compare and merge the objects of a type: how
// lists are merged, which values are quantities, and which fields the host drops.
//
// The package is pure: it does no I/O.
//
// Read takes a document and returns Types. A nil *Type stands for a value without a known schema; all its methods may
// be called.
package openapi
