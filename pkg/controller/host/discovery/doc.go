// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery knows the types of the host: their resources, whether they come from a
// CustomResourceDefinition, and what the host's OpenAPI documents say of them.
//
// It asks the host when a type is first needed, and keeps the answer until a
// CustomResourceDefinition or an APIService of the type's API group changes.
package discovery
