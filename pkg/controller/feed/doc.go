// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed tells those who look which of some objects in memory have changed. While nobody looks, a
// change costs the reading of one pointer. A follower that is slow is told once of an object that has changed several
// times, so that what waits for it is bounded by the number of objects.
package feed
