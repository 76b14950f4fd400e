// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calllog keeps the last calls of the hooks of each controller in memory, and shows them as HookCalls.
//
// It limits the number and the bytes of the calls of each controller, and the bytes of all calls of the process. Failed
// calls have rings of their own, so successful calls do not displace them. The package copies bytes into rings that
// grow up to their limit and are reused, so keeping a call allocates nothing once they have grown. It blanks Secrets in
// the bytes when a client reads them.
package calllog
