// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes computes which fields a step of a plan changes. Only previews use it.
//
// It takes a Step, with the result of a dry run if there is one, and returns Changes in the order of the fields. The
// package is pure.
package changes
