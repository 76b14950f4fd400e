// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed notifies its followers of changes of objects that the process has in memory. Without a follower, a
// change costs the reading of one pointer. If an object changes several times before a slow follower is notified, the
// follower is notified once. So the queue of a follower is never longer than the number of objects.
package feed
