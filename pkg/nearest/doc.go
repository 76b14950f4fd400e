// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the name that was probably meant by a misspelled one. Of a type that the cluster does not
// serve, it also says whether a CustomResourceDefinition defines it, so that no other one was meant.
package nearest
