// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader elects the one process that runs the controllers, by client-go's leader election with one Lease.
//
// The Lease has a label with a storage ID. Only a process with that storage may hold the Lease, even after it has
// expired. An annotation of the Lease has the address at which its holder serves the API.
//
// Start with election.go, which takes the Lease and runs the controllers. The controllers check the Term (term.go)
// before each write and hook call. Term.giveUp in term.go lists when a term ends. lease.go is the client through which
// client-go reads and writes the Lease.
package leader
