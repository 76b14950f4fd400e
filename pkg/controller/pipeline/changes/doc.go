// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes says which fields a step of a plan changes. Only previews use it.
//
// A Step comes in, with the result of a dry run if there is one. Changes go out, in the order of the fields. The
// package is pure.
package changes
