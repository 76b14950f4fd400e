// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights says what a right of the cluster is, asks the cluster which rights a user has, and
// writes the ones that are missing as rules to paste into a Role.
package rights

import "k8s.io/apimachinery/pkg/runtime/schema"

// Object is what a right is for: one object if Name is set, else all objects of a resource.
type Object struct {
	schema.GroupResource
	Subresource string
	// Namespace is empty for all namespaces, and for objects that are in none.
	Namespace, Name string
}

// Right is the right to do something with objects of the cluster.
type Right struct {
	Object
	Verb string
}

// Required is a right that is required, and what for.
type Required struct {
	Right
	// For is what requires the right, such as a field of a spec.
	For string
}
