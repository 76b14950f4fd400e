// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate has the command that moves a cluster from Metacontroller to this server, and back.
package migrate
