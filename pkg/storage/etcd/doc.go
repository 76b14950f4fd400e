// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs an etcd inside the process: one member, one data directory, one unix socket. It
// takes the data directory, and returns a [Server] with the endpoint for the API server. It touches
// that directory and the socket, and no network.
//
// It starts before the API server and closes after it, and does not share its context: while the
// API server drains, the last writes must still reach the storage. Only the owner of the data
// directory can reach it, because the socket is in a directory of mode 0700.
package etcd
