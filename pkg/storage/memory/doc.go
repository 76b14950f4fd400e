// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory keeps API objects in memory, and lists and watches them as the storage of an API server does.
//
// All objects of a Store share one sequence of resource versions. It begins with the time at which the Store was made,
// in microseconds since 1970, and each change raises it by one. A version of an earlier process, or of another one, is
// therefore either too old or not reached yet. The response to both is 410 Gone, and the client lists again.
//
// Each object keeps the version of its last change. A watch goes through the objects that have changed since the
// version it is at. It sends every object that changed after its version, once, in its latest form. A slow client needs
// no more memory than a fast one. The Store keeps deleted objects for a while for the watches. The response to a watch
// that begins before the first one that the Store has dropped is 410.
package memory
