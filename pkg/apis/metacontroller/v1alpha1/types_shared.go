// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ResourceRule names a resource type of the cluster.
type ResourceRule struct {
	// apiVersion is the group and version of the resource, as "group/version", for instance "apps/v1", or only "version"
	// for the core group, for instance "v1".
	APIVersion string `json:"apiVersion"`

	// resource is the name of the resource: plural and lower case, for instance "deployments".
	Resource string `json:"resource"`
}

// ChildUpdateMethod is a way to bring an existing child or attachment up to date.
// +enum
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete does nothing to a child that differs; the new version is made when something else deletes the child.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes a child that differs, and creates it again when it is gone.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace updates a child that differs.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate does as Recreate, to one child of a parent at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace does as InPlace, to one child of a parent at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)

// Rolls reports whether the children of a parent are updated one after the other.
func (m ChildUpdateMethod) Rolls() bool {
	return m == ChildUpdateRollingRecreate || m == ChildUpdateRollingInPlace
}

// Rolls reports whether the method rolls. The strategy may be nil.
func (s *CompositeControllerChildUpdateStrategy) Rolls() bool { return s != nil && s.Method.Rolls() }

// ChildApplyStrategy is a way to work out and write what the hook wants of a child.
// +enum
type ChildApplyStrategy string

const (
	// ChildApplyDynamic merges three ways - what the hook wants, what it last wanted, and what is there - and keeps what it
	// last wanted in the annotation "metacontroller.k8s.io/last-applied-configuration" of the child.
	ChildApplyDynamic ChildApplyStrategy = "DynamicApply"
	// ChildApplyServerSide has the cluster merge by server-side apply, taking over fields that others own. The child's
	// "metadata.managedFields" keep which fields are the hook's.
	ChildApplyServerSide ChildApplyStrategy = "ServerSideApply"
)
