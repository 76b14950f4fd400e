// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inline evaluates the hooks that are written in controllers. Compile turns an InlineHook into a Template, or
// says what is wrong with each of its expressions; Template.Evaluate turns the JSON of a request into the JSON of the
// answer. The package does not depend on what a request is about, or on the use of the answer. It is pure: an
// expression reads no clock, no random source and no network, so the same request has the same answer.
//
// The expressions are those of Kubernetes (k8s.io/apiserver/pkg/cel/environment), with its limits on what they cost.
// CEL counts some costs only after they arise. meter.go limits these costs.
package inline
