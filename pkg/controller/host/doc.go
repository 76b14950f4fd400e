// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the client of the host, the cluster that is extended. It sends JSON and returns objects as bytes with
// their metadata parsed (see object).
//
//   - Client reads: it lists, lists in pages, watches, and gets any path.
//   - Writer writes: it creates, updates, patches, applies and deletes objects. It also reads single objects directly
//     from the host. All Writers of a process share one limit on concurrent writes, divided fairly among controllers.
//   - An Account is the identity of a request: a service account, or the server itself.
//
// The package sends requests to the host and does nothing else. It keeps no objects in memory. The packages below it
// use its Client: cache keeps the objects of the types in use, and discovery finds these types.
package host
