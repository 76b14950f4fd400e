// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the command: flags become options, options are completed and validated, and make the configuration of
// a server that runs. It is the one place that knows flags, the environment and signals.
package server
