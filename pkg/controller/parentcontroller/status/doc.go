// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status keeps what the status of a controller is computed from, and decides which events about its parents
// are written.
//
// Tracker has how the last sync of each parent ended, HookCalls and StaleCredentials how the hooks do. Reporter gets
// what syncs found, notes it in the Tracker, and writes an event if it is new: Reported records what was reported about
// a parent before. The texts of events and conditions are in package report.
package status
