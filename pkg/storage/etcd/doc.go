// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs the API server's own etcd inside the process: one member, one data directory, one unix socket.
//
// It is started before the API server and closed after it, and never shares its context: while the API server drains,
// the last writes must still find their storage. Nothing but the owner of the data directory can reach it, because the
// socket lies in a directory of mode 0700 and there is no network listener.
package etcd
