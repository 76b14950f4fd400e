// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory keeps API objects in memory, and lists and watches them as the storage of an API server does.
//
// All objects of a Store share one sequence of resource versions. It begins at the time when the Store was made, in
// microseconds since 1970, and rises by one with each change. A version of an earlier process, or of another one, is
// therefore either too old or not reached yet. The response to both is 410 Gone, and the client lists again.
//
// Each object keeps the version of its last change. A watch goes through the objects that have changed since the
// version it is at. So it misses nothing from whatever version it begins, an object that changes often is sent once,
// and a slow client costs no more memory than a fast one. Objects that are gone are kept for a while for the
// watches; the response to a watch that begins before the first one that was dropped is 410.
package memory
