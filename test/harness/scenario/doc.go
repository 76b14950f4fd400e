// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario is for tests that do what users do: they create manifests in YAML, answer hooks
// over HTTP, and look at what becomes of the objects. A Scenario has a namespace, a hook and words,
// which stand for names in the manifests. Ref names an object; Check looks at one.
package scenario
