// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery finds the types of the host and their schemas.
//
//   - Input: an apiVersion and a resource, or types (object.Type).
//   - Output: the type of a resource (Resolve), whether the type comes from a CustomResourceDefinition (IsCustom), and
//     its schema in the host's OpenAPI documents (Schemas). The callback onChange gets each API group whose types may
//     have changed.
//   - Access: it reads the host's discovery and OpenAPI documents through host.Client, and runs one informer of
//     CustomResourceDefinitions and one of APIServices (Follow). It does not write to the host.
//
// Discovery reads a type when it is first needed, and keeps it until a CustomResourceDefinition or
// an APIService of its API group changes. Refresh also finds changes that neither of them shows.
package discovery
