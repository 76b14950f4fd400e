// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi knows how to compare and merge the objects of a type of the host: how lists are merged, which values
// are quantities, and which fields the host drops.
//
// An OpenAPI v3 document that the host publishes comes in, Types go out. The package is pure: it does
// no I/O.
//
// Read makes the types. A nil *Type stands for a value without a known schema; all its methods may be
// called.
package openapi
