// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localhook calls hooks on the machine of whoever runs the command, which the server does not reach. It
// can start their programs, too.
package localhook
