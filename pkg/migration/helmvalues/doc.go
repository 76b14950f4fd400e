// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package helmvalues makes values of this server's chart of those of Metacontroller's chart.
package helmvalues
