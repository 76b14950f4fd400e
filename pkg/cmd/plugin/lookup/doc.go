// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup finds the controllers and parents that arguments and files name.
//
// Arguments and files come in; controllers, with the spec that is stored or that a file has, and names of parents
// go out. It reads from the cluster: controllers, and which types there are.
package lookup
