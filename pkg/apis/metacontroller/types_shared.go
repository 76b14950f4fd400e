// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

// ResourceRule names a resource type of the host cluster.
type ResourceRule struct {
	APIVersion string
	Resource   string
}

// ChildUpdateMethod is a way to bring an existing child or attachment up to date.
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete leaves existing children alone; the new version is made when something else deletes the child.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes a child that differs, and makes it anew when it is gone.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace updates a child that differs.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate is Recreate, one child at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace is InPlace, one child at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)
