// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settled keeps in etcd, from one process to the next, which parents of each controller need no
// sync. Losing a record costs one call of the hook a parent, and nothing else.
package settled
