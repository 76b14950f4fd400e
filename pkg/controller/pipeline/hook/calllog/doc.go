// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calllog keeps the last calls of the hooks of each controller in memory, and shows them as HookCalls.
//
// What is kept is bounded: in number and in bytes for each controller, and in bytes for the process. Calls that
// failed have a place of their own, so that those that succeed do not displace them. Bytes are copied into rings
// that grow up to their bound and are used again, so that keeping a call allocates nothing once they have grown.
// Secrets in the bytes are blanked when a client reads them.
package calllog
