// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus holds CompositeControllers and DecoratorControllers for tests of admission, and
// what the server answers to each: errors, warnings, or nothing.
//
// The cases are in testdata/*.yaml. Each is a good object with one named change. Refused and Accepted
// return them. The tests of the package check validation, defaulting and docs/admission.md against
// the cases without a cluster; test/integration/api sends the same cases through a real
// kube-apiserver.
package corpus
