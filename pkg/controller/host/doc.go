// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the client of the host, the cluster that is extended. It sends JSON and returns
// objects as bytes with their metadata parsed (see object).
//
//   - Client reads: lists, pages of lists, watches, and what the host has at a path.
//   - Writer writes, at most a fixed number of requests at a time for the whole process.
//
// The packages below it are clients of it: cache keeps the objects of the types in use, discovery
// knows these types.
package host
