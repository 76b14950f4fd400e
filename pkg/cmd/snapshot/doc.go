// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot has the commands that save, show and restore snapshots of the storage of a server. save asks a
// running server, through kube-apiserver. status and restore work on files.
package snapshot
