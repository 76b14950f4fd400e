// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosttest is a host for the tests of packages that need discovery.Discovery. It serves a
// few types and their CustomResourceDefinitions over HTTP, and has no objects.
package hosttest
