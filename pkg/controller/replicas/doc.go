// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas knows the processes that share the controllers of one storage.
//
// Each process is a replica and keeps a Lease of the host, which it renews while it lives. Membership
// says from these Leases which replicas are alive, and which are dead so that their controllers may be
// taken over. Fence says whether this replica may still act: it closes before another one may take it for
// dead. Assign decides which replica is to run which controller, and is a pure function.
//
// The package reads and writes Leases and nothing else. Which replica runs a controller is in the
// status of the controller object, which package lifecycle writes.
package replicas
