// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes says what a step of a plan changes, field by field. Only previews ask for it.
//
// A Step comes in, or what the host has made of it; out come Changes, in the order of the fields. The package is
// pure.
package changes
