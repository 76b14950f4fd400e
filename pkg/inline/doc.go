// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inline evaluates the hooks that are written in controllers. Compile turns an InlineHook into a Template, or
// says what is wrong with each of its expressions; Template.Evaluate turns the JSON of a request into the JSON of the
// answer. The package knows neither what a request is about nor what becomes of the answer. It is pure: an expression
// reads no clock, no random source and no network, so the same request has the same answer.
//
// The expressions are those of Kubernetes (k8s.io/apiserver/pkg/cel/environment), with its limits on what they cost. A
// meter bounds what CEL counts only after the fact: see meter.go.
package inline
