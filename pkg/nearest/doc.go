// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the known name that a misspelled name probably means. For a type that the cluster does not
// serve, it also reports whether a CustomResourceDefinition defines the type; if so, the name is not misspelled.
package nearest
