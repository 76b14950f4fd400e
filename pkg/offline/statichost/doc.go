// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statichost is a cluster that has the objects it is given, and never changes.
//
// Objects come in; out comes a rest.Config whose requests are answered within the process: which types there are, what
// their schemas are, lists, and watches without changes. It has the types of Kubernetes, and those of the
// CustomResourceDefinitions among the objects, and gives the objects what a cluster would: a UID, a version, and
// the defaults of custom resources. It stores nothing and refuses all writes.
package statichost
