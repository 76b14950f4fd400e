// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unreadable says which fields of an object cannot be read, and why. The library answers such
// requests with texts of its decoders: Go types, the whole object as a Go map, or no field at all.
//
// In go the bodies of requests to create, update and patch objects of the group, and the answers; out
// come answers with a sentence for each field. An answer that is about something else passes
// unchanged.
package unreadable
