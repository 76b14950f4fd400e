// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ResourceRule names a resource type of the host cluster.
type ResourceRule struct {
	APIVersion string
	Resource   string
}

// GroupResource returns the type that a rule names, without the version.
func (r ResourceRule) GroupResource() schema.GroupResource {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: r.Resource}
}

// ChildUpdateMethod is a way to bring an existing child or attachment up to date.
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete leaves existing children alone; the new version is made when something
	// else deletes the child.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes a child that differs, and creates it again when it is gone.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace updates a child that differs.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate is Recreate, one child at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace is InPlace, one child at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)

// ChildApplyStrategy is a way to work out and write what the hook wants of a child.
type ChildApplyStrategy string

const (
	// ChildApplyDynamic merges three ways in this server and keeps what was last applied in an
	// annotation of the child.
	ChildApplyDynamic ChildApplyStrategy = "DynamicApply"
	// ChildApplyServerSide has the host merge, which keeps in managedFields who owns which field.
	ChildApplyServerSide ChildApplyStrategy = "ServerSideApply"
)
