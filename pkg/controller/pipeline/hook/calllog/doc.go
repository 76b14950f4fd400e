// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calllog keeps the last calls of the hooks of each controller in memory, and shows them as HookCalls.
//
// It bounds the calls in number and in bytes for each controller, and in bytes for the process. Failed calls have a
// place of their own so that successful ones do not displace them. It copies bytes into rings that grow up to their
// bound and are reused, so keeping a call allocates nothing once they have grown. It blanks Secrets in the bytes when a
// client reads them.
package calllog
