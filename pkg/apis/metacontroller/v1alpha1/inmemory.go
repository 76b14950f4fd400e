// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// NotForSyncs is why no controller can be for objects that are InMemory.
const NotForSyncs = "is answered from the memory of the server and changes with each sync, " +
	"so a controller that depends on it would keep itself busy; use metrics, or a program that watches it"

// InMemory reports whether objects of a type are answered from the memory of the server, and not stored.
// They change with each sync, so they cannot be parents, targets, children or related objects.
func InMemory(of schema.GroupResource) bool {
	switch of {
	case Resource("syncs"), Resource("hookcalls"), Resource("syncreviews"):
		return true
	}
	return false
}
