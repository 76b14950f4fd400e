// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps the objects of the host in memory. Callers read them through Views, each of which shows the
// objects that it selects.
//
//   - Input: a type (object.Type), and label selectors or the name of one object.
//   - Output: a View, to read objects from and to add event handlers to. Follow calls a function for a single object.
//   - Access: it lists and watches through host.Client. It writes nothing to the host.
//
// Informers shares one informer per type among all views of the type. An informer keeps its objects
// in a store, which a reflector of client-go fills.
//
// # Life of an informer
//
// An informer starts with its first view. After its last view is released it lingers: it runs on
// for some seconds so that a controller that replaces another one finds the objects there. It does
// not linger if it is of a single object, or if the host does not let it list and watch.
//
// # Selectors
//
// Each view has label selectors, and shows only the objects that they select. A request to the host has one selector
// only. So an informer asks for the union of the selectors of all its views: for each label that all of them
// restrict, the values that at least one of them allows. The host may send more objects than the views select, but
// never fewer.
//
// When a new view selects more than the informer watches, the informer starts a second, wider
// watch, and the other views read on from the first. The second store replaces the first when it
// has listed everything and has caught up with what the first has shown, so that no view goes back
// in time. The event handlers of the other views then get only the differences between the two
// stores. Those of the new view get all its objects.
//
// When views are released, the informer narrows its watch. It does so the next time the host ends
// the watch, and no event handler is called for that.
//
// # Filters
//
// A view may have a filter in addition to its selectors, such as the namespaces of a controller. The view does not show
// the objects that the filter excludes. The informer still watches them, because other views share it.
//
// # Which views have selectors
//
// A view may have selectors only if its controller can do without the objects that they exclude.
//
//   - Parents are selected. A controller has nothing to do with a parent that it does not select,
//     and forgets a parent that leaves the selection as if it were deleted. There is one exception:
//     a controller with a finalize hook must finalize such a parent, for as long as the parent has
//     the controller's finalizer. No selector finds finalizers, so such a controller watches all
//     parents. A controller that no longer has a finalize hook removes the finalizers that are left.
//     For this it searches once through the parents that it does not select. It misses a finalizer
//     that is added to one of them later.
//   - Children are not selected. A controller must release a child that has lost the labels by which
//     it was claimed, and an object with the name of a child blocks the child even if the controller
//     does not own it. The same holds for attachments, which an annotation identifies.
//   - Related objects are not selected. Their rules become known one parent at a time, and with each
//     new selector all objects would be listed again.
//
// # Trouble
//
// A store knows what keeps it from following the host (trouble.go): requests that are refused, and watches that end in
// an error or as soon as they have begun, which listwatch.go sees. A synced view reports such trouble only after some
// seconds, because it is usually just a restart of the host. A view that is not synced reports it at once, with the
// time when it began to wait for its first list.
//
// # Waiting for a write
//
// The writer of an object waits until the view has seen the resource version of the write, or
// does not show the object. If the write has taken the object out of the selection, the host sends
// its removal with that version.
package cache
