// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror keeps the objects that several origins have in memory in one store: those of the controllers of this
// process, and those of other replicas. It does so only while somebody looks, and for a while after that. Otherwise
// nothing is kept, and no origin is asked.
package mirror
