// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status keeps in memory what the status of a controller is computed from, and decides which events about its
// parents are written. Package report computes the status, and package lifecycle writes it.
//
// Tracker records how the last sync of each parent ended. HookCalls and StaleCredentials record the state of the hooks.
// Reporter gets what syncs found, notes it in the Tracker, and writes an event if it is new: Reported records what was
// reported about a parent before. The texts of events and conditions are in package report.
package status
