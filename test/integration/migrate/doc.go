// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate moves clusters from Metacontroller to this server, and back. Metacontroller itself is not there:
// the tests make its CustomResourceDefinitions and objects as it leaves them (original_test.go).
package migrate
