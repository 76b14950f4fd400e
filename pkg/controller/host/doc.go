// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the client of the host, the cluster that is extended. It sends JSON and returns
// objects as bytes with their metadata parsed (see object).
//
//   - Client reads: it lists, lists in pages, watches, and gets any path.
//   - Writer writes: it creates, updates, patches, applies and deletes objects. It also reads single
//     objects past all caches. The Writers of a process share a bound of how many requests are under
//     way at a time, fairly among its controllers.
//   - An Account is whom requests are made as: a service account, or the server itself.
//
// It touches the host and nothing else, and keeps nothing in memory. The packages below it use its
// Client: cache keeps the objects of the types in use, discovery knows these types.
package host
