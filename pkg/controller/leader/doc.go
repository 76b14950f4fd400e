// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader elects the one process that runs the controllers, by client-go's leader election with one Lease.
//
// The Lease has a label with the ID of the storage of those who may hold it, and an annotation with the address at
// which the process that holds it serves the API. A process with another storage never takes the Lease, also when it
// has expired.
//
// Read election.go first. The controllers check term.go before each write and each call of a hook, and lease.go is
// the client through which client-go reads and writes the Lease.
package leader
